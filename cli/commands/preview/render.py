"""The report of a preview: for the terminal, and as Markdown for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from tensorplane.cli.commands.preview import order
from tensorplane.cli.commands.preview.head import LIMIT, Block, fit_parts
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.section import SEPARATOR, collapsed
from tensorplane.cli.output.escaping import code
from tensorplane.cli.output.markdown import bullets


def terminal(report: Report, width: int) -> RenderableType:
    """The complete report, as wide as the terminal."""
    return Group(*(part for section in order.TERMINAL for part in section.terminal(report, width)))


def markdown(report: Report) -> str:
    """The complete report: its beginning within a limit, then the sections. Those without content are left out."""
    title = f"# Preview of stack {code(report.stack)}"
    parts = [part for section in order.HEAD for part in section.head(report)]
    head = list(fit_parts(parts, LIMIT - len(title.encode()) - 2))
    truncated = (
        part
        for part, text in zip(parts, head, strict=True)
        if isinstance(part, Block) and text != part.markdown and not part.has_section
    )
    blocks = [title, *head, *(block for part in truncated for block in _complete(part))]
    for section in order.MARKDOWN:
        if found := list(section.markdown(report)):
            blocks += [SEPARATOR, *found]
    return "\n\n".join(blocks) + "\n"


def _complete(part: Block) -> Iterator[str]:
    """All of a block that the beginning has truncated."""
    yield SEPARATOR
    yield f"## {part.title}: all"
    yield from collapsed(f"{len(part.items):,} lines" if len(part.items) > 1 else "The whole text", part.items, bullets)
