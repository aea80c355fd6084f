"""The properties that a step of the engine changes, as texts for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.cli.commands.preview import property_path
from tensorplane.cli.commands.preview.report import OURS, Property

Step = Mapping[str, Any]

_KUBERNETES = "kubernetes:"
_MOST_LISTED = 6
"""Maximum differences within a text of JSON that are listed one by one."""


def of(step: Step) -> Iterator[Property]:
    """One for each changed property, and for each difference within a property whose text is JSON."""
    states = ((step.get(state) or {}).get("inputs") or {} for state in ("old", "new"))
    old, new = (_explained(step["type"], state) for state in states)
    is_secret = step["type"] == "kubernetes:core/v1:Secret"
    for path, kind in _by_name(step, old, new):
        replaces = kind.endswith("-replace") or path in (step.get("keys") or ())
        if is_secret and path.split(".")[0].split("[")[0] in {"data", "stringData"}:
            found = [(path, property_path.SECRET, property_path.SECRET, "")]
        else:
            values = property_path.find(old, path), property_path.find(new, path)
            found = list(_inside(path, *values)) or [(path, *_texts(*values))]
        for each, before, after, full_values in found:
            came, went = kind.startswith("add"), kind.startswith("delete")
            yield Property(each, "" if came else before, "" if went else after, replaces, full_values)


def _texts(old: Any, new: Any) -> tuple[str, str, str]:
    return (*property_path.texts(old, new), property_path.full_values(old, new))


def _differences(step: Step) -> list[tuple[str, str]]:
    """Path and kind of each change, from the providers; of components the engine only reports that they changed."""
    if step["op"] in {"create", "delete"}:
        return []
    detailed = step.get("detailedDiff")
    if detailed is not None:
        return [(path, difference["diffKind"]) for path, difference in sorted(detailed.items())]
    old, new = (
        _explained(step["type"], state.get("inputs") or {}) for state in (step.get("old") or {}, step.get("new") or {})
    )
    return list(property_path.differences(old, new)) or [(name, "update") for name in step.get("diffs") or ()]


def _by_name(step: Step, old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """The differences, those in lists of named items by these names: an item that moves is no difference."""
    found = _differences(step)
    lists: dict[str, list[str]] = {}
    for path, kind in found:
        if at := property_path.named_list(old, new, path) if step["type"].startswith(_KUBERNETES) else "":
            lists.setdefault(at, []).append(kind)
        else:
            yield path, kind
    for at, several in lists.items():
        replaces = "-replace" if any(kind.endswith("-replace") for kind in several) else ""
        values = property_path.find(old, at), property_path.find(new, at)
        yield from ((path, f"{kind}{replaces}") for path, kind in property_path.differences(*values, at))


def _explained(token: str, inputs: Step) -> Step:
    """The inputs without those of our components that a section of the report shows."""
    if not token.startswith(OURS):
        return inputs
    shown = {key: value for key, value in inputs.items() if key not in ("cost", "machines")}
    # Of all queues together, which `machines` does not say.
    capacity = {each["name"]: each["max"] for each in inputs.get("machines") or ()}
    return {**shown, "clusterCapacity": capacity} if capacity else shown


def _inside(path: str, old: Any, new: Any) -> Iterator[tuple[str, str, str, str]]:
    """Path and texts of each difference between two texts of JSON; nothing if one is none, or if they are many."""
    before, after = property_path.parsed(old), property_path.parsed(new)
    if property_path.ABSENT in (before, after):
        return
    inner = [each for each, _ in property_path.differences(before, after)]
    for each in inner if len(inner) <= _MOST_LISTED else ():
        values = property_path.find(before, each), property_path.find(after, each)
        yield (f"{path}{'' if each.startswith('[') else '.'}{each}", *_texts(*values))
