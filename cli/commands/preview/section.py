"""What a section of the report is, and how its lists begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from rich.console import RenderableType

from cli.commands.preview.report import Report


class Section(Protocol):
    """A module in `sections`: a part of the report. It yields nothing if it has no content."""

    def terminal(self, report: Report, width: int, /) -> Iterable[RenderableType]:
        """Output for the terminal, `width` characters wide."""

    def markdown(self, report: Report, /) -> Iterable[str]:
        """Blocks of Markdown, headings included; a blank line separates them."""


def conditions(report: Report) -> Iterator[str]:
    """The condition under which the changes of a list happen, as its introduction."""
    if report.when:
        yield f"{report.when[0].upper()}{report.when[1:]}:"
