"""The changed resources in few lines: of each kind of change, the properties; first who may do or reach what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tensorplane.cli.commands.preview import property_path
from tensorplane.cli.commands.preview.head import Block
from tensorplane.cli.commands.preview.report import OPERATIONS, Property, Report
from tensorplane.cli.commands.preview.rows import (
    LEAST_GROUPED,
    Ranks,
    Row,
    differing,
    is_derived,
    of_any,
    rows,
    shape,
    size,
    together,
)
from tensorplane.cli.output.aggregated import names
from tensorplane.cli.output.texts import bold, first_names
from tensorplane.components.base.plural import plural

_MAX_PROPERTIES = 3
_PATH_LIMIT = 60
"""Characters of a path that a line shows."""
_VALUES, _LONG = 3, 100
"""Values of a property of several resources that a line lists, and their characters; it counts others."""
_ACCESS = re.compile(r"Role|ServiceAccount|Polic|Webhook|Secret$|iam|[Ff]irewall|[Ss]ecurityGroup|Ingress|HTTPRoute")
"""Types that decide who may do or reach what."""
_GUARDS = re.compile(r":(PodDisruptionBudget|ResourceQuota|LimitRange|CronJob|Plan|Alarm|PrometheusRule)$")
"""Types without which something is no longer limited, repeated or reported."""
_ANYWHERE = re.compile(r'"(0\.0\.0\.0/0|::/0)"')
_OPENED = {
    re.compile(r"^spec\.egress\[\d+\]\.to$"): "to every address",
    re.compile(r"^spec\.ingress\[\d+\]\.from$"): "from every address",
    re.compile(r"^spec\.(e|in)gress\[\d+\]\.ports$"): "at every port",
    re.compile(r"^spec\.policyTypes\b"): "a direction that is not listed is open",
}
"""What it means that one of a NetworkPolicy's properties goes, or changes."""


def terminal(report: Report, _: int) -> Iterator[str]:
    """Nothing: the table of all changes is there."""
    yield from ()


def head(report: Report) -> Iterator[Block]:
    """A list; the whole resources are in a section. None if all of them go."""
    if found := [] if report.stack_removed else list(_lines(report)):
        when = f", {report.when}" if report.when else ""
        yield Block("Changed resources", found, is_list=True, when=when, has_section=True)


def _lines(report: Report) -> Iterator[str]:
    """Those of rights and networks first, then of which there are few; what only comes or goes is counted by type."""
    # The stack's own components have words of their own.
    found = [row for row in together(rows(report.changes)) if ":" in row.type]
    one_by_one, by_type = ([row for row in found if _is_listed(row) == is_listed] for is_listed in (True, False))
    ranks = Ranks(one_by_one)
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in one_by_one:
        groups.setdefault((*shape(row), row.names if ranks.is_odd(row) else ()), []).append(row)
    few = [[row] for several in groups.values() if size(several) < LEAST_GROUPED for row in several]
    few.sort(key=lambda several: ranks.rarest_path(several[0]))
    many = [several for several in groups.values() if size(several) >= LEAST_GROUPED]
    by_access = sorted((*few, *sorted(many, key=size)), key=lambda several: not _ACCESS.search(several[0].type))
    yield from (_line(several, ranks) for several in by_access)
    for operation in OPERATIONS:
        if others := [row for row in by_type if row.operation == operation]:
            yield f"{operation} {size(others):,} more: {', '.join(_types(others))}"


def _is_listed(row: Row) -> bool:
    is_guard_gone = row.operation == "delete" and _GUARDS.search(row.type)
    return bool(row.properties or is_guard_gone or _ACCESS.search(row.type))


def _types(several: list[Row]) -> list[str]:
    """The types, those of which there are few first, with the names of these."""
    found: dict[str, list[str]] = {}
    for row in several:
        found.setdefault(row.type.rpartition(":")[2], []).extend(row.names)
    by_number = sorted(found.items(), key=lambda each: len(each[1]))
    return [
        f"{kind} {bold(of_type[0])}" if len(of_type) == 1 else f"{len(of_type):,} {plural(kind)}"
        for kind, of_type in by_number
    ]


def _line(several: Sequence[Row], ranks: Ranks) -> str:
    row, count = several[0], size(several)
    kind = row.type.rpartition(":")[2]
    of_kind = f"{count:,} {plural(kind)}" if count > 1 else kind
    resources = bold(names([name for each in several for name in each.names]))
    properties = list(_properties(several, ranks))
    detail = f": {first_names(properties, _MAX_PROPERTIES)}" if properties else ""
    return f"{row.words} {of_kind} {resources}{detail}"


def _properties(several: Sequence[Row], ranks: Ranks) -> Iterator[str]:
    """Each property that differs with its values, the telling ones first. One that follows from others, with the same
    values as one of these, is left out.
    """
    row, shown = several[0], set[str]()
    for each in ranks.ordered(row, differing(row)):
        values = _values(row, [found for other in several for found in _of(other, each.path)])
        if not values or values not in shown or not is_derived(each):
            yield f"{property_path.truncate_start(each.path, _PATH_LIMIT)}{values}"
        shown.add(values)


def _of(row: Row, path: str) -> Iterator[Property]:
    return (of_any(row.names[0], each) if len(row.names) > 1 else each for each in row.properties if each.path == path)


def _values(row: Row, found: Sequence[Property]) -> str:
    if not any(each.old or each.new for each in found):
        return ""
    before, after = (list(dict.fromkeys(side)) for side in ([e.old for e in found], [e.new for e in found]))
    opened = [*_opened(row, found), *(["the internet"] if any(map(_ANYWHERE.search, after)) else ())]
    means = f" {bold(f'({opened[0]})')}" if opened else ""
    return f" {_values_text(before)} → {_values_text(after)}{means}"


def _opened(row: Row, found: Sequence[Property]) -> Iterator[str]:
    """What a NetworkPolicy no longer keeps away."""
    if row.type.endswith(":NetworkPolicy") and any(each.old for each in found):
        yield from (text for path, text in _OPENED.items() if path.search(found[0].path))


def _values_text(values: Sequence[str]) -> str:
    text = ", ".join(value or "none" for value in values)
    return text if len(values) == 1 or (len(values) <= _VALUES and len(text) <= _LONG) else f"{len(values):,} values"
