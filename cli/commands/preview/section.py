"""What a section of the report is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from rich.console import RenderableType

from cli.commands.preview.report import Report


class Section(Protocol):
    """A module in `sections`: one subject of the report. A section without anything to say yields nothing."""

    def terminal(self, report: Report, width: int, /) -> Iterable[RenderableType]:
        """What the terminal shows, `width` characters wide."""

    def markdown(self, report: Report, /) -> Iterable[str]:
        """Blocks of Markdown, headings included; a blank line separates them."""
