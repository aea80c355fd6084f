"""One mistake in many places: reported once, with some of the places and how many more there are."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from stack_file.file_problems import some

_FEW = 3
"""So many alike are reported one by one."""
T = TypeVar("T")


def groups(found: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Those that are alike together if they are many, each other one alone; in the order of the first ones."""
    alike: dict[Hashable, list[T]] = {}
    for one in found:
        alike.setdefault(key(one), []).append(one)
    return [part for group in alike.values() for part in ([group] if len(group) > _FEW else [[one] for one in group])]


def elsewhere(names: Sequence[str]) -> str:
    """The end of a line about something that is at these places, too; empty if there are none."""
    named = ", ".join(names) if len(names) <= _FEW + 1 else some(names, "and")
    return f"; also affects {named}" if names else ""
