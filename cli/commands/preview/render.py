"""The report of a preview: for the terminal, and as Markdown short enough for a comment on a pull request."""

from __future__ import annotations

from rich.console import Group, RenderableType

from cli.commands.preview import order
from cli.commands.preview.report import Report


def terminal(report: Report, width: int) -> RenderableType:
    """The complete report, as wide as the terminal."""
    return Group(*(part for section in order.TERMINAL for part in section.terminal(report, width)))


def markdown(report: Report) -> str:
    """The complete report. Sections without content are left out."""
    blocks = [f"# Preview of stack `{report.stack}`"]
    blocks += [block for section in order.MARKDOWN for block in section.markdown(report)]
    return "\n\n".join(blocks) + "\n"
