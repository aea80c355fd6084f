"""The order of environment variables: Kubernetes replaces `$(NAME)` in a value only by a variable that comes before."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")
"""A name in a value, or a dollar sign that stands for itself."""


def in_order(variables: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The variables in their order, but each after those that its value names. In a circle, one has to come first."""
    given = {one["name"]: one for one in variables}
    found: dict[str, Mapping[str, Any]] = {}

    def add(name: str, before: Collection[str]) -> None:
        if name in found or name in before:
            return
        for other in _REFERENCE.findall(given[name].get("value", "")):
            if other in given:
                add(other, {*before, name})
        found[name] = given[name]

    for name in given:
        add(name, ())
    return [{**one} for one in found.values()]
