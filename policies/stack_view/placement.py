"""Which nodes a pod may run on: its selector, its affinity, and the taints that it tolerates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpu_usage.manifest import UNKNOWN

from stack_view.node_groups import Group, Taint
from stack_view.view import at, known, maps

_OWN_LABELS = "tensorplane.dev/"


def takes(
    group: Group, spec: Mapping[str, Any], groups: Sequence[Group], more: Iterable[Mapping[str, Any]] = ()
) -> bool:
    """Whether the pod may run on nodes of the group. `more`: tolerations that a queue adds."""
    return selects(spec, group, groups) and not refusing(group, spec, more)


def refusing(group: Group, spec: Mapping[str, Any], more: Iterable[Mapping[str, Any]] = ()) -> list[Taint]:
    """The taints of the group that the pod does not tolerate."""
    tolerations = [*maps(spec, "tolerations"), *more]
    return [taint for taint in group.taints if not any(tolerates(one, taint) for one in tolerations)]


def tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """Whether a toleration matches a taint, as the scheduler decides it. An unknown part may match."""
    key, effect = at(toleration, "key"), at(toleration, "effect")
    is_any = at(toleration, "operator") == "Exists"
    return (
        effect in (None, "", UNKNOWN, taint.effect)
        and (key in (UNKNOWN, taint.key) or (is_any and key in (None, "")))
        and (is_any or (at(toleration, "value") or "") in (UNKNOWN, taint.value))
    )


def selects(spec: Mapping[str, Any], group: Group, groups: Sequence[Group]) -> bool:
    """Whether the pod's selector and affinity allow the group. Labels that no group registers may be there."""
    known_keys = {key for each in groups for key in each.labels}
    wanted = known(spec, "nodeSelector") or {}
    if not all(_matches(key, "In", [value], group, known_keys) for key, value in wanted.items()):
        return False
    terms = known(
        spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
    )
    return not terms or any(
        all(
            _matches(str(at(one, "key")), at(one, "operator"), at(one, "values") or [], group, known_keys)
            for one in maps(term, "matchExpressions")
        )
        for term in terms
    )


def _matches(key: str, operator: Any, values: Any, group: Group, known_keys: set[str]) -> bool:
    if key not in known_keys and not key.startswith(_OWN_LABELS):
        return True
    has, value = key in group.labels, group.labels.get(key)
    match operator:
        case "In":
            return value in values or UNKNOWN in values
        case "NotIn":
            return value not in values
        case "Exists":
            return has
        case "DoesNotExist":
            return not has
        case _:  # Gt, Lt: no group has such labels
            return True
