"""The changes of a report as rows to read: many resources of one type that come or go as a whole share a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from cli.report import Change, Property

_MANY = 4


@dataclass(frozen=True)
class Row:
    """What would happen to one resource, or in the same way to several."""

    operation: str
    type: str
    names: tuple[str, ...]
    properties: tuple[Property, ...] = ()


def of(changes: Iterable[Change]) -> Iterator[Row]:
    """Rows in the order of the changes."""
    for (operation, kind, whole), alike in groupby(changes, lambda c: (c.operation, c.type, not c.properties)):
        several = list(alike)
        if whole and len(several) >= _MANY:
            yield Row(operation, kind, tuple(change.name for change in several))
        else:
            yield from (Row(operation, kind, (change.name,), change.properties) for change in several)
