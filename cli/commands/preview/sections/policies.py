"""The verdict of each policy on the update."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from cli.commands.preview.report import Report, Verdict
from cli.output.markdown import cell, table


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line for each policy that passed, and for each violation."""
    for verdict in report.verdicts:
        if not verdict.messages:
            yield Text(f"policy {verdict.policy}: passed", style="green")
        style = "red" if verdict.level == "mandatory" else "yellow"
        for line in verdict.messages:
            yield Text(f"policy {verdict.policy} ({verdict.level}): {line}", style=style)


def markdown(report: Report) -> Iterator[str]:
    """A table."""
    if report.removed:
        return
    yield "## Policies"
    if report.verdicts:
        rows = ((f"{each.policy} ({each.pack})", _verdict(each)) for each in report.verdicts)
        yield table(("policy", "verdict"), rows)
    else:
        yield "Not evaluated: the preview ended before the policies saw the whole stack."


def _verdict(verdict: Verdict) -> str:
    found = " ".join(verdict.messages)
    return cell(f"**violated** ({verdict.level}): {found}") if verdict.messages else "passed"
