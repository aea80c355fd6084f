"""What Pachyderm needs to create pipelines: the repos that they read must exist already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Made = dict[str, Any]
"""A spec."""


def written(made: Made) -> str:
    """The repo that a spec writes."""
    name: str = made["pipeline"]["name"]
    return name


def read(made: Made) -> set[str]:
    """The repos that a spec reads."""
    return {*_repos(made["input"])}


def _repos(given: Mapping[str, Any]) -> Iterator[str]:
    if "pfs" in given:
        yield given["pfs"]["repo"]
        return
    for members in given.values():
        for one in members:
            yield from _repos(one)


def ordered(specs: Sequence[Made]) -> list[Made]:
    """The specs, each after those whose output it reads. Branches may make a circle, of which the first comes first."""
    left, found = list(specs), []
    while left:
        missing = {written(one) for one in left}
        chosen = next((one for one in left if not (missing - {written(one)}) & read(one)), left[0])
        left.remove(chosen)
        found.append(chosen)
    return found


def needed(specs: Sequence[Made]) -> list[str]:
    """The repos that the specs read, and none of them writes."""
    return sorted({repo for one in specs for repo in read(one)} - {written(one) for one in specs})
