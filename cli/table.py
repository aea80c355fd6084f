"""The report of a preview as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli import consequences, fleet, queue_report, rows, tier_table
from cli.markdown import PRICES, summary
from cli.report import Report

_WITH_TAINTS = 110
_NAMES = 3
_NUMBERS = ("cards", "$/h")
_STYLES = {"create": "green", "update": "yellow", "replace": "magenta", "delete": "red"}


def render(report: Report, width: int) -> RenderableType:
    """Changes, the fleet, verdicts and faults, the most important last: it is what stays on the screen.

    Taints are shown where `width` has room for them; labels are in the Markdown alone.
    """
    parts: list[RenderableType] = [Text(line, style="bold yellow") for line in report.banner]
    if report.changes:
        parts.append(_changes(report))
    if report.groups:
        parts += ["", _fleet(report, taints=width >= _WITH_TAINTS), Text(PRICES, style="dim"), ""]
    if report.queues:
        parts += [*_queues(report.queues, width), ""]
    parts += [Text(f"note: {line}", style="yellow") for line in consequences.of(report.changes)]
    parts += [Text(f"warning: {line}", style="yellow") for line in report.warnings]
    if report.changes or not report.failed:
        # Said again here: the banner of a long preview has left the screen.
        what = f"{report.stack}{' (no cloud was asked)' if report.stand_ins else ''}: {summary(report)}"
        parts.append(Text(what, style="bold"))
    for verdict in report.verdicts:
        if not verdict.messages:
            parts.append(Text(f"policy {verdict.policy}: kept", style="green"))
        style = "red" if verdict.level == "mandatory" else "yellow"
        parts += [Text(f"policy {verdict.policy} ({verdict.level}): {line}", style=style) for line in verdict.messages]
    parts += [Text(line, style="red") for line in report.faults]
    return Group(*parts)


def _changes(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("change", "resource", "properties"):
        table.add_column(heading)
    for row in rows.of(report.changes):
        properties = Text("\n").join(Text(_line(each.path, each.old, each.new)) for each in row.properties)
        table.add_row(Text(row.operation, style=_STYLES.get(row.operation, "")), Text(_resources(row)), properties)
    return table


def _resources(row: rows.Row) -> str:
    if len(row.names) == 1:
        return f"{row.type} {row.names[0]}"
    left = len(row.names) - _NAMES
    more = f" and {left} more" if left > 0 else ""
    return f"{len(row.names)} {row.type}: {', '.join(row.names[:_NAMES])}{more}"


def _fleet(report: Report, *, taints: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in (*fleet.HEADINGS, *(["taints"] if taints else ())):
        table.add_column(heading, justify="right" if heading in _NUMBERS else "left", overflow="fold")
    for group in report.groups:
        several = [Text("\n".join(group.taints))] if taints else []
        table.add_row(*map(Text, group.cells), *several)
    table.add_row(*(Text(cell, style="bold") for cell in fleet.total(report.groups)))
    return table


def _queues(queues: queue_report.Queues, width: int) -> Iterator[RenderableType]:
    (before, after), (had, kinds) = queues.tiers, queues.kinds
    yield tier_table.render(after, kinds, width, before=before, had=had)
    if queues.stakes:
        yield from ("", tier_table.table(queue_report.STAKE_HEADINGS, [stake.cells for stake in queues.stakes]))


def _line(path: str, old: str, new: str) -> str:
    return f"{path}: {' → '.join(value for value in (old, new) if value)}".removesuffix(": ")
