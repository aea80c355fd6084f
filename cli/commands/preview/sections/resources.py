"""The changed resources in few lines: of each kind of change, the properties; first who may do or reach what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cli.commands.preview.head import Block
from cli.commands.preview.report import OPERATIONS, Property, Report
from cli.commands.preview.sections.changes import Ranks, Row, differing, rows, shape, together
from cli.output.alike import names
from cli.output.texts import bold, first

_MANY = 4
_PROPERTIES = 3
_PATH = 60
"""Characters of a path that a line shows."""
_ACCESS = re.compile(r"Role|ServiceAccount|Polic|Webhook|Secret$|iam|[Ff]irewall|[Ss]ecurityGroup|Ingress|HTTPRoute")
"""Types that decide who may do or reach what."""
_OF_ACCESS = re.compile(r"serviceAccount|[sS]ecurityContext|host(Network|PID|IPC|Path)|secret", re.IGNORECASE)
"""Properties of pods that do."""


def terminal(report: Report, _: int) -> Iterator[str]:
    """Nothing: the table of all changes is there."""
    yield from ()


def head(report: Report) -> Iterator[Block]:
    """A list; the whole resources are in a section. None if all of them go."""
    if found := [] if report.removed else list(_lines(report)):
        when = f", {report.when}" if report.when else ""
        yield Block("Changed resources", found, is_list=True, when=when, below=True)


def _lines(report: Report) -> Iterator[str]:
    """Those of rights and networks first, then of which there are few; what only comes or goes is counted by type."""
    # The stack's own components have words of their own.
    found = [row for row in together(rows(report.changes)) if ":" in row.type]
    listed, counted = (
        [row for row in found if bool(row.properties or _ACCESS.search(row.type)) == is_listed]
        for is_listed in (True, False)
    )
    ranks = Ranks(listed)
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in listed:
        groups.setdefault((*shape(row), row.names if ranks.is_odd(row) else ()), []).append(row)
    few = [[row] for several in groups.values() if _size(several) < _MANY for row in several]
    few.sort(key=lambda several: ranks.rarest_path(several[0]))
    many = [several for several in groups.values() if _size(several) >= _MANY]
    by_access = sorted((*few, *sorted(many, key=_size)), key=lambda several: not _ACCESS.search(several[0].type))
    yield from (_line(several, ranks) for several in by_access)
    for operation in OPERATIONS:
        if others := [row for row in counted if row.operation == operation]:
            yield f"{operation} {_size(others):,} more: {', '.join(_types(others))}"


def _size(several: list[Row]) -> int:
    return sum(len(row.names) for row in several)


def _types(several: list[Row]) -> list[str]:
    counts: dict[str, int] = {}
    for row in several:
        kind = row.type.rpartition(":")[2]
        counts[kind] = counts.get(kind, 0) + len(row.names)
    return [f"{count:,} {kind}" if count > 1 else kind for kind, count in counts.items()]


def _line(several: list[Row], ranks: Ranks) -> str:
    row, size = several[0], _size(several)
    count = f"{size:,} " if size > 1 else ""
    named = bold(names([name for each in several for name in each.names]))
    order = sorted(differing(row), key=lambda each: (not _OF_ACCESS.search(each.path), ranks.of(row, each)))
    properties = [_property(each, values=len(several) == 1) for each in order]
    said = f": {first(properties, _PROPERTIES)}" if properties else ""
    return f"{row.words} {count}{row.type.rpartition(':')[2]} {named}{said}"


def _property(changed: Property, *, values: bool) -> str:
    path = changed.path if len(changed.path) <= _PATH else f"{changed.path[:15]}…{changed.path[15 - _PATH :]}"
    said = f" {changed.old or 'none'} → {changed.new or 'none'}" if values and (changed.old or changed.new) else ""
    return f"{path}{said}"
