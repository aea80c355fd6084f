"""Tables that fit the terminal without breaking a word."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement, measure_renderables
from rich.table import Column, Table

_ANY_WIDTH = 100_000
"""Wider than any table."""


class FittedTable(Table):
    """Cells wrap between words. Where the words are too wide, the least important columns are left out; then the
    widest ones are cut, as the `overflow` of the column says.
    """

    def __init__(self, *, least: Sequence[str] = (), title: str | None = None, narrow: bool = False) -> None:
        """`least`: headings of columns that may be left out, the least important first. `narrow`: less space between
        columns.
        """
        super().__init__(
            title=title,
            title_justify="left",
            title_style="bold",
            header_style="dim",
            box=None,
            pad_edge=False,
            collapse_padding=narrow,
        )
        self._least = least

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table with the columns that fit."""
        shown = [(column, _span(column, console, options)) for column in self.columns]
        gap = 1 if self.collapse_padding else 2
        for name in self._least:
            if sum(span.minimum + gap for _, span in shown) - gap > options.max_width:
                shown = [each for each in shown if each[0].header != name]
        spans, available = [span for _, span in shown], options.max_width - gap * (len(shown) - 1)
        if sum(span.minimum for span in spans) <= available < sum(span.maximum for span in spans):
            # Rich itself would narrow the widest column first, even below its longest word.
            pairs = zip(shown, _widths(spans, available), strict=True)
            yield self._with([dataclasses.replace(column, width=width) for (column, _), width in pairs])
        else:
            yield self._with([column for column, _ in shown])

    def _with(self, columns: Sequence[Column]) -> Table:
        made = Table(
            title=self.title,
            title_justify=self.title_justify,
            title_style=self.title_style,
            header_style=self.header_style,
            show_header=self.show_header,
            box=None,
            pad_edge=False,
            collapse_padding=self.collapse_padding,
        )
        made.columns = [dataclasses.replace(column, _index=index) for index, column in enumerate(columns)]
        made.rows = self.rows
        return made


def _span(column: Column, console: Console, options: ConsoleOptions) -> Measurement:
    """The width of its longest word, and of its longest cell."""
    found = measure_renderables(console, options.update(width=_ANY_WIDTH), [column.header, *column.cells])
    return Measurement(found.maximum, found.maximum) if column.no_wrap else found


def _widths(spans: Sequence[Measurement], width: int) -> list[int]:
    """Each column's width: that of its longest word, and a share of what is left, those first that need little."""
    found = [span.minimum for span in spans]
    more = width - sum(found)
    order = sorted(range(len(spans)), key=lambda index: spans[index].span)
    for left, index in zip(range(len(spans), 0, -1), order, strict=True):
        given = min(spans[index].span, more // left)
        found[index] += given
        more -= given
    return found
