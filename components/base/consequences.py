"""One line per thing to change: omits faults that follow from another one, joins those with the same cause.

A check concludes from keys: the one that it reports, and those in `given`. If one of them is at fault itself, or is
misspelt, the conclusion is omitted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from components.base.faults import Fault, Key, overlap


def own_causes(shape: Sequence[Fault], found: Iterable[Fault]) -> list[Fault]:
    """The faults that do not follow from others. `shape`: faults of values that could not be read."""
    kept: list[Fault] = []
    for fault in found:
        if any(_is_from(fault, cause) for cause in shape) or any(_follows(fault, cause) for cause in kept):
            continue
        # A fault is omitted only for one that stays, so that at least one is reported.
        kept = [*(other for other in kept if not _follows(other, fault)), fault]
    return _together(kept)


def _is_from(fault: Fault, cause: Fault) -> bool:
    """Whether the fault follows from a value that could not be read and was replaced by its default."""
    if cause.among and fault.path[:-1] == cause.among:
        # Settings of one map are checked against each other.
        return True
    return any(overlap(key, wrong) for key in (fault.path, *fault.given) for wrong in (cause.path, *cause.meant))


def _follows(fault: Fault, cause: Fault) -> bool:
    """Whether one fault is concluded from a key that another one reports."""
    return any(overlap(key, cause.path) for key in fault.given)


def _together(faults: Iterable[Fault]) -> list[Fault]:
    """Joins faults that the same missing setting causes."""
    groups: dict[object, list[Fault]] = {}
    for fault in faults:
        groups.setdefault(fault.lacks or (fault.path, fault.reason), []).append(fault)
    return [_joined(group) for group in groups.values()]


def _joined(faults: Sequence[Fault]) -> Fault:
    first, *others = faults
    places = dict.fromkeys(".".join(other.path) for other in others if other.path != first.path)
    if not places:
        return first
    given = (*first.given, *(other.path for other in others))
    return replace(first, reason=f"{first.reason}; also affects {', '.join(places)}", given=given)


def of_default(key: Key, found: Iterable[Fault]) -> Iterator[Fault]:
    """The faults of settings without this key: those concluded from its default count as caused by its absence."""
    for fault in found:
        yield replace(fault, lacks=key) if any(given[: len(key)] == key for given in fault.given) else fault
