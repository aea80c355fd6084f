"""One line per thing to change: omits faults that follow from another one, joins those with the same cause.

A check concludes from keys: the one that it reports, and those in `given`. If one of them is at fault itself, or is
misspelt, the conclusion is omitted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from components.base import repeated
from components.base.paths import Paths
from components.base.problems import Key, Problem, overlap


def own_causes(shape: Sequence[Problem], found: Iterable[Problem]) -> list[Problem]:
    """The faults that do not follow from others. `shape`: faults of values that could not be read."""
    unread = Paths(path for cause in shape for path in (cause.path, *cause.meant))
    # Settings of one map are checked against each other.
    among = {cause.among for cause in shape if cause.among}
    kept: list[Problem] = []
    reported, concluded = Paths(), Paths()
    for fault in found:
        from_shape = fault.path[:-1] in among or unread.meets((fault.path, *fault.given))
        if from_shape or reported.meets(fault.given):
            continue
        # A fault is omitted only for one that stays, so that at least one is reported.
        for other in [each for each in kept if _follows(each, fault)] if concluded.meets([fault.path]) else ():
            kept.remove(other)
            _count(other, reported.remove, concluded.remove)
        kept.append(fault)
        _count(fault, reported.add, concluded.add)
    return _together(kept)


def _count(fault: Problem, report: Callable[[Key], None], conclude: Callable[[Key], None]) -> None:
    report(fault.path)
    for key in fault.given:
        conclude(key)


def _follows(fault: Problem, cause: Problem) -> bool:
    """Whether one fault is concluded from a key that another one reports."""
    return any(overlap(key, cause.path) for key in fault.given)


def _together(faults: Iterable[Problem]) -> list[Problem]:
    """Joins faults that the same missing setting causes."""
    groups: dict[object, list[Problem]] = {}
    for fault in faults:
        groups.setdefault(fault.lacks or (fault.path, fault.reason), []).append(fault)
    return [_joined(group) for group in groups.values()]


def _joined(faults: Sequence[Problem]) -> Problem:
    first, *others = faults
    places = dict.fromkeys(".".join(other.path) for other in others if other.path != first.path)
    given = (*first.given, *(other.path for other in others))
    return replace(first, reason=f"{first.reason}{repeated.elsewhere(list(places))}", given=given) if places else first


def of_default(key: Key, found: Iterable[Problem]) -> Iterator[Problem]:
    """The faults of settings without this key: those concluded from its default count as caused by its absence."""
    for fault in found:
        yield replace(fault, lacks=key) if any(given[: len(key)] == key for given in fault.given) else fault


def once(found: Iterable[Problem]) -> list[Problem]:
    """The faults, with one for each mistake that is made again and again."""
    return [_joined(group) for group in repeated.groups(found, lambda fault: fault.reason)]
