"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from rich.table import Table
from rich.text import Text

from tensorplane.core.fitted_table import FittedTable

Cell = str | Text


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Collection[str] = (),
    unwrapped: Collection[str] = (),
    styles: Mapping[str, str] | None = None,
    narrow: bool = False,
    least: Sequence[str] = (),
) -> Table:
    """A table in the terminal's width, the first column in bold. Without a heading, it has no line of headings.

    `right`: headings of the columns of numbers. `unwrapped`: headings of the columns that are never wrapped.
    `styles`: styles of cells, by text. `narrow`: one space between columns, for tables with many columns.
    `least`: headings of the columns that a narrow terminal leaves out, the least important first; with it, words that
    still do not fit are shortened, and else folded.
    """
    made = FittedTable(narrow=narrow, least=least)
    made.show_header = any(headings)
    overflow: Literal["ellipsis", "fold"] = "ellipsis" if least else "fold"
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading in right else "left"
        made.add_column(heading, justify=justify, overflow=overflow, no_wrap=heading in unwrapped)
    for name, *rest in rows:
        made.add_row(_text(name, "bold"), *(_text(cell, (styles or {}).get(str(cell), "")) for cell in rest))
    return made


def _text(cell: Cell, style: str) -> Text:
    return cell if isinstance(cell, Text) else Text(cell, style=style)
