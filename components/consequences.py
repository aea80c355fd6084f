"""One line for each thing to change: faults that another one explains are left out, those of one cause told together.

What a check concludes is drawn from keys: the one that it tells, and those that it names in `given`. Where one of them
is wrong itself, or is there under a misspelt name, the conclusion says nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from components.faults import Fault, Key, overlap


def own_causes(shape: Sequence[Fault], found: Iterable[Fault]) -> list[Fault]:
    """Of the faults found beyond the shape those that have a cause of their own."""
    kept: list[Fault] = []
    for fault in found:
        if any(_is_from(fault, cause) for cause in shape) or any(_follows(fault, cause) for cause in kept):
            continue
        # A fault is left out for one that stays, so that of any there are, one is told.
        kept = [*(other for other in kept if not _follows(other, fault)), fault]
    return _together(kept)


def _is_from(fault: Fault, cause: Fault) -> bool:
    """Whether a conclusion is drawn from a value that could not be read: its default stood in its place."""
    if cause.among and fault.path[:-1] == cause.among:
        # Settings of one map are checked against each other.
        return True
    return any(overlap(key, wrong) for key in (fault.path, *fault.given) for wrong in (cause.path, *cause.meant))


def _follows(fault: Fault, cause: Fault) -> bool:
    """Whether one conclusion is drawn from what another one is about."""
    return any(overlap(key, cause.path) for key in fault.given)


def _together(faults: Iterable[Fault]) -> list[Fault]:
    """What lacks one and the same setting is one fault, wherever that is noticed."""
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
    """The faults found where the settings leave a key out: what is concluded from its default lacks the key."""
    for fault in found:
        yield replace(fault, lacks=key) if any(given[: len(key)] == key for given in fault.given) else fault
