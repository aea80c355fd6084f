"""The report of a preview as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from cli import consequences, fleet, queue_markdown, rows
from cli.report import OPERATIONS, Change, Property, Report

PRICES = (
    "Prices are estimates for full groups: list prices of the days that docs/catalog.md tells, - where none is known."
)


def render(report: Report) -> str:
    """The whole report. A heading has its section only if there is something to say."""
    blocks = [f"# Preview of stack `{report.stack}`"]
    blocks += ["\n".join(f"> {line}" for line in report.banner)] if report.banner else []
    blocks.append(_summary(report))
    if report.faults:
        blocks += ["## Faults", "\n".join(f"- {line}" for line in report.faults)]
    blocks += ["## Policies", _verdicts(report)]
    if report.groups:
        blocks += ["## Fleet", "\n".join(_fleet(report.groups)), PRICES]
    blocks += queue_markdown.blocks(report.queues)
    if notes := consequences.of(report.changes):
        blocks += ["## What restarts", "\n".join(f"- {line}" for line in notes)]
    if report.changes:
        blocks += ["## Changes", "\n".join(_changes(report.changes))]
    if report.warnings:
        blocks += ["## Warnings", "\n".join(f"- {line}" for line in report.warnings)]
    return "\n\n".join(blocks) + "\n"


def summary(report: Report) -> str:
    """One sentence: how many resources would change, and how."""
    counts = [f"{number} to {operation}" for operation in OPERATIONS if (number := report.count(operation))]
    return (
        ", ".join([*counts, f"{report.unchanged} unchanged"]) if counts else f"no changes, {report.unchanged} unchanged"
    )


def _summary(report: Report) -> str:
    if not report.failed:
        return f"**{summary(report)}.**"
    if report.refused:
        return f"**A policy refuses this update:** {summary(report)}."
    return "**The preview failed.**" + (f" Until then: {summary(report)}." if report.changes else "")


def _verdicts(report: Report) -> str:
    if not report.verdicts:
        return "Not judged: the preview ended before the policies saw the whole stack."
    rows = ["| policy | verdict |", "|---|---|"]
    for verdict in report.verdicts:
        found = " ".join(verdict.messages)
        says = f"**violated** ({verdict.level}): {found}" if verdict.messages else "kept"
        rows.append(f"| {verdict.policy} ({verdict.pack}) | {_cell(says)} |")
    return "\n".join(rows)


def _fleet(groups: tuple[fleet.Group, ...]) -> Iterator[str]:
    headings = (*fleet.HEADINGS, "taints", "labels")
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(headings) + "|"
    for group in groups:
        several = ("<br>".join(f"`{_cell(line)}`" for line in lines) for lines in (group.taints, group.labels))
        yield f"| {' | '.join([*map(_cell, group.cells), *several])} |"
    yield f"| {' | '.join([*fleet.total(groups), '', ''])} |"


def _changes(changes: tuple[Change, ...]) -> Iterator[str]:
    yield "| change | resource | properties |"
    yield "|---|---|---|"
    for row in rows.of(changes):
        properties = "<br>".join(_property(each) for each in row.properties)
        count = f"{len(row.names)} " if len(row.names) > 1 else ""
        yield f"| {row.operation} | {count}{row.type} **{', '.join(row.names)}** | {properties} |"


def _property(changed: Property) -> str:
    values = " → ".join(f"`{_cell(value)}`" for value in (changed.old, changed.new) if value)
    sign = {(False, True): "+ ", (True, False): "- "}.get((bool(changed.old), bool(changed.new)), "")
    why = " (replaces)" if changed.replaces else ""
    return f"`{_cell(changed.path)}`{why}" + (f": {sign}{values}" if values else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
