"""Empty values without a meaning: `hostNetwork: false` or `env: []`, which the API server does not store.

Pulumi's plugin drops them by Kubernetes' Go types (normalizeInputs in provider/pkg/provider/provider.go), whose
optional fields are only serialized if they are not empty. No schema lists these fields, but the server shows them: an
empty value that it receives and does not store has no meaning. Custom resources are stored as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes import field_managers, kinds, naming, paths
from tensorplane.plugins.kubernetes.difference import Change
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import has_unknown

Object = dict[str, Any]


def is_zero(value: Any) -> bool:
    """Whether a value is empty, or contains only empty values."""
    if isinstance(value, dict | list):
        return all(is_zero(item) for item in (value.values() if isinstance(value, dict) else value))
    return value is None or value is False or value == "" or (value == 0 and value is not True)


def without_dropped(new: Any, old: Any, live: Any) -> Any:
    """`new` without empty values that were also given before and that the server did not store."""
    if isinstance(new, dict):
        old, live = (part if isinstance(part, dict) else {} for part in (old, live))
        return {
            key: without_dropped(value, old.get(key), live.get(key))
            for key, value in new.items()
            if key in live or key not in old or not (is_zero(value) and old[key] == value)
        }
    if isinstance(new, list):
        return [without_dropped(value, _at(old, i), _at(live, i)) for i, value in enumerate(new)]
    return new


def with_dropped(found: Any, given: Any, before: Any) -> Any:
    """`found`, the cluster's values of the inputs `given`, with the empty values that it did not store `before`.

    They are no drift: when the server received them, it dropped them, or replaced them by its default.
    """
    if isinstance(found, dict) and isinstance(given, dict):
        before = before if isinstance(before, dict) else {}
        merged = {key: with_dropped(value, given.get(key), before.get(key)) for key, value in found.items()}
        same = {key for key, value in given.items() if is_zero(value) and found.get(key) == before.get(key)}
        return merged | {key: given[key] for key in same}
    if isinstance(found, list) and isinstance(given, list):
        return [with_dropped(value, _at(given, i), _at(before, i)) for i, value in enumerate(found)]
    return found


def meaningful(session: Session, changes: Iterable[Change], new: Object, old_inputs: Object) -> list[Change]:
    """The changes without those that write an empty value that the server would not store."""
    found = list(changes)
    doubtful = [change for change in found if _is_doubtful(change, old_inputs)]
    stored = _stored(session, new) if doubtful else None
    if stored is None:
        return found
    return [change for change in found if change not in doubtful or paths.find(stored, change.path)[1] == change.value]


def _is_doubtful(change: Change, old_inputs: Object) -> bool:
    if change.kind == "DELETE" or not is_zero(change.value):
        return False
    return change.kind == "ADD" or is_zero(paths.find(old_inputs, change.path)[1])


def _stored(session: Session, new: Object) -> Object | None:
    """A new object as the server would store it, from a dry run under a free name; None if that is not possible."""
    if not session.is_reachable or not kinds.is_built_in(GVK.of(new)) or has_unknown(new):
        return None
    renamed = copy.deepcopy(new)
    renamed["metadata"]["name"] = naming.unique("dry-run-")
    try:
        return session.api.create(renamed, manager=field_managers.CREATOR, dry_run=True)
    except ApiError:
        return None


def _at(values: Any, index: int) -> Any:
    return values[index] if isinstance(values, list) and index < len(values) else None
