"""Corrects unambiguous mistakes in settings, so that the rest can be checked as intended.

A stack with such a mistake is still refused, but without problems that follow from it.
"""

from typing import Any

from pydantic_core import ErrorDetails

from components.base.place import Key, Place
from components.base.reasons import choices
from stack_file.nearest import nearest


def mend(tree: dict[str, Any], place: Place, detail: ErrorDetails) -> Key | None:
    """Correct the mistake in the tree. Returns the corrected key, or None if the intention is ambiguous."""
    *parents, last = place.path
    node: Any = tree
    for key in parents:
        node = node.get(key) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node:
        return None
    if detail["type"] == "extra_forbidden":
        meant = [key[-1] for key in place.meant]
        return _renamed(node, place.path, meant)
    if detail["type"] == "refused" and detail["loc"][-1] == "[key]":
        return _renamed(node, place.path, [detail["ctx"]["near"]])
    if detail["type"] == "union_tag_invalid":
        node, last = node[last], "kind"
    meant = nearest(node.get(last), choices(detail)) if isinstance(node, dict) else []
    if len(meant) != 1 or meant[0] == node[last]:
        return None
    node[last] = meant[0]
    return (*place.path, last) if detail["type"] == "union_tag_invalid" else place.path


def _renamed(node: dict[str, Any], path: Key, names: list[str]) -> Key | None:
    if len(names) != 1 or not names[0] or names[0] in node:
        return None
    node[names[0]] = node.pop(path[-1])
    return (*path[:-1], names[0])
