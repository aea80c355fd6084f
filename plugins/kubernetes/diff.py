"""Diff: which inputs differ from the cluster's last state, and which of them replace the object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tensorplane.core.errors import UserError
from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes import (
    await_ready,
    checkpoint,
    difference,
    force_new,
    kinds,
    naming,
    object_annotations,
    paths,
    zeroes,
)
from tensorplane.plugins.kubernetes.normalize import normalize, prune
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import Properties

Object = dict[str, Any]


@dataclass
class Difference:
    """The engine's form: property path -> ADD, DELETE, UPDATE, with `_REPLACE` if it replaces."""

    detailed: dict[str, str] = field(default_factory=dict)
    replaces: list[str] = field(default_factory=list)
    delete_before_replace: bool = False


def diff(session: Session, urn: str, state: Properties, news: Properties, ignore_changes: list[str]) -> Difference:
    """Compares the new inputs with the live object of the state, as far as the old inputs reached."""
    new = normalize(checkpoint.from_properties(news))
    old_inputs, live = checkpoint.unpack(state)
    old = prune(live, normalize(old_inputs))
    kind = GVK.of(new)
    _align(session, kind, old, new, live)
    found = Difference()
    is_patch = kinds.is_patch(kinds.token(urn), new)
    replacing = force_new.identity() if is_patch else force_new.fields(new, session.settings)
    skipped = [paths.parse(text) for text in ignore_changes]
    changes = [
        change
        for change in difference.changes(old, zeroes.without_dropped(new, old_inputs, live))
        if not any(paths.covers(path, change.path) for path in skipped)
    ]
    for change in changes if is_patch else zeroes.meaningful(session, changes, new, old_inputs):
        text = paths.render(change.path)
        replaces = change.path == ("metadata",) and change.kind == "DELETE"
        replaces = replaces or any(force_new.touches(path, change.path, change.value) for path in replacing)
        found.detailed[text] = f"{change.kind}_REPLACE" if replaces else change.kind
        if replaces:
            found.replaces.append(text)
    _replace_unready(session, urn, new, live, found)
    found.delete_before_replace = bool(found.replaces) and _must_keep_its_name(new, live)
    return found


def _align(session: Session, kind: GVK, old: Object, new: Object, live: Object) -> None:
    """Makes identities comparable: with the default namespace, and the name on the server."""
    old_metadata, new_metadata = naming.metadata(old), naming.metadata(new)
    if session.is_namespaced(kind):
        old_metadata["namespace"] = live.get("metadata", {}).get("namespace") or "default"
        new_metadata["namespace"] = new_metadata.get("namespace") or "default"
    else:
        old_metadata.pop("namespace", None)
        new_metadata.pop("namespace", None)
    if new_metadata.get("name"):
        old_metadata["name"] = live.get("metadata", {}).get("name")
    for key in ("apiVersion", "kind"):
        old.setdefault(key, new[key])


def _must_keep_its_name(new: Object, live: Object) -> bool:
    """The replacement has the old one's name, so both cannot exist at once."""
    given, present = naming.metadata(new), naming.metadata(live)
    if object_annotations.is_true(new, object_annotations.AUTONAMED) or not naming.is_named(new):
        return False
    same_namespace = (given.get("namespace") or "default") == (present.get("namespace") or "default")
    return given.get("name") == present.get("name") and (same_namespace or not present.get("namespace"))


def _replace_unready(session: Session, urn: str, new: Object, live: Object, found: Difference) -> None:
    """`pulumi.com/replaceUnready` replaces a Job that is not complete."""
    if not object_annotations.is_true(new, object_annotations.REPLACE_UNREADY):
        return
    if new["kind"] != "Job":
        session.engine.warn(urn, f"{object_annotations.REPLACE_UNREADY} works for Jobs only; it is ignored here")
        return
    metadata = naming.metadata(live)
    try:
        job = session.api.get(GVK.of(live), metadata["name"], metadata.get("namespace"))
    except UserError:
        return  # as in pulumi-kubernetes: a Job that cannot be read is not replaced
    if await_ready.unready_reasons(session.api, job):
        path = f'metadata.annotations["{object_annotations.REPLACE_UNREADY}"]'
        found.detailed[path] = "UPDATE_REPLACE"
        found.replaces.append(path)
