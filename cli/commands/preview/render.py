"""The report of a preview: for the terminal, and as Markdown for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from cli.commands.preview import order
from cli.commands.preview.head import LIMIT, Block, fitted
from cli.commands.preview.report import Report
from cli.commands.preview.section import CUT, closed
from cli.output.escaping import code
from cli.output.markdown import bullets


def terminal(report: Report, width: int) -> RenderableType:
    """The complete report, as wide as the terminal."""
    return Group(*(part for section in order.TERMINAL for part in section.terminal(report, width)))


def markdown(report: Report) -> str:
    """The complete report: its beginning within a limit, then the sections. Those without content are left out."""
    title = f"# Preview of stack {code(report.stack)}"
    parts = [part for section in order.HEAD for part in section.head(report)]
    begin = list(fitted(parts, LIMIT - len(title.encode()) - 2))
    cut = (
        part
        for part, text in zip(parts, begin, strict=True)
        if isinstance(part, Block) and text != part.whole and not part.below
    )
    blocks = [title, *begin, *(block for part in cut for block in _complete(part))]
    for section in order.MARKDOWN:
        if found := list(section.markdown(report)):
            blocks += [CUT, *found]
    return "\n\n".join(blocks) + "\n"


def _complete(part: Block) -> Iterator[str]:
    """All of a block that the beginning has no room for."""
    yield CUT
    yield f"## {part.title}: all"
    yield from closed(f"{len(part.items):,} lines" if len(part.items) > 1 else "The whole text", part.items, bullets)
