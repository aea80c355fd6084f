"""What a dataset refuses."""

from __future__ import annotations

from collections.abc import Iterable

from tensorplane.errors import TensorplaneError

_LINES = 10
_CHARACTERS = 100


class Refused(TensorplaneError):
    """Why something cannot be done, in one line: `what: problem; remedy`."""


class Cut(Refused):
    """Contents stopped coming: those that have come stay for whoever goes on."""


class Gone(Refused):
    """Something that retention has deleted. Who keeps it again may succeed; who reads it does not."""


def collected(what: str) -> Gone:
    """The error of a commit whose contents a collection has just deleted."""
    return Gone(f"{what}: a collection deleted contents of this commit; run the same command again")


def all_of(faults: Iterable[str]) -> Refused:
    """Many faults as one: the first lines, and how many more there are."""
    lines = sorted(faults)
    more = [f"and {len(lines) - _LINES:,} more"] if len(lines) > _LINES else []
    return Refused("\n".join([*lines[:_LINES], *more]))


def shortened(path: str) -> str:
    """A path or value for a message: of one that is very long, its begin and its end."""
    half = _CHARACTERS // 2
    return path if len(path) <= _CHARACTERS else f"{path[:half]}…{path[-half:]}"
