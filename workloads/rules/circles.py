"""Circles of workloads of which each makes the next one work."""

from collections.abc import Iterator, Mapping, Sequence

from tensorplane.components.base.problems import Key


def each(after: Mapping[Key, Sequence[Key]]) -> Iterator[list[Key]]:
    """Circles that have no workload in common, each from its first workload back to it. `after`: which ones a workload
    makes work.
    """
    reported: set[Key] = set()
    for at in after:
        circle = _shortest(at, after)
        if circle and not reported & {*circle}:
            reported |= {*circle}
            yield circle


def _shortest(start: Key, after: Mapping[Key, Sequence[Key]]) -> list[Key]:
    """The shortest way from a workload over those after it back to itself; empty if there is none."""
    ways = [[start]]
    visited: set[Key] = set()
    for way in ways:
        for each in after[way[-1]]:
            if each == start:
                return [*way, start]
            if each not in visited:
                visited.add(each)
                ways.append([*way, each])
    return []
