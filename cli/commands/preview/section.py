"""What a section of the report is, and its lists: how they begin, and what of long ones a click opens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from rich.console import RenderableType

from tensorplane.cli.commands.preview.head import Block
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.output import aggregated
from tensorplane.cli.output.markdown import bullets, details, full_table

SEPARATOR = "<!-- tensorplane: may be cut here -->"
"""A block of its own. CI leaves out of a comment what is between two of these and does not fit, never a part of it."""
LOCATION = "below, or in preview.md in the artifacts of the run"
_MAX_OPEN_ROWS = 40
"""Of a list or table, those that no click has to open."""
_COLLAPSED_BYTES = 12_000
"""Of what one click opens, about."""

Row = TypeVar("Row")


class OnTerminal(Protocol):
    """A module in `sections`: a part of the report on the terminal. It yields nothing if it has no content."""

    def terminal(self, report: Report, width: int, /) -> Iterable[RenderableType]:
        """Output for the terminal, `width` characters wide."""


class InHead(Protocol):
    """A module in `sections`: a part of the beginning of the report in Markdown."""

    def head(self, report: Report, /) -> Iterable[Block | str]:
        """Paragraphs of Markdown that are short, and blocks that may be long."""


class Section(Protocol):
    """A module in `sections`: a part of the report in Markdown after its beginning."""

    def markdown(self, report: Report, /) -> Iterable[str]:
        """Blocks of Markdown, headings included; a blank line separates them."""


def conditions(report: Report) -> Iterator[str]:
    """The condition under which the changes of a list happen, as its introduction."""
    if report.when:
        yield f"{report.when[0].upper()}{report.when[1:]}:"


def list_lines(report: Report, lines: Iterable[str]) -> Iterator[str]:
    """A list, equal lines about many things as one, and first those that have few like them. A click opens the rest of
    a long one.
    """
    found = together(report, lines)
    shown = _shown(found)
    rest = [f"{len(found) - shown:,} more lines: {LOCATION}"] if len(found) > shown else []
    yield bullets([*found[:shown], *rest])
    yield from _rest(found, bullets)


def together(report: Report, lines: Iterable[str]) -> list[str]:
    """Equal lines about many things as one, and first those that have few like them."""
    return aggregated.rarest_first(aggregated.lines(lines, report.names), report.names)


def tabled(
    report: Report, headings: Sequence[str], rows: Iterable[Sequence[str]], *last: Sequence[str]
) -> Iterator[str]:
    """A table, equal rows about many things as one, and the `last` rows. A click opens the rest of a long one, of which
    rows that have few like them are first.
    """
    found = aggregated.rows(rows, report.names)
    if len(found) > (shown := _shown(found)):
        found = aggregated.rarest_rows_first(found, report.names)
    yield full_table(headings, [*found[:shown], *last])
    if len(found) > shown:
        yield f"{len(found) - shown:,} more rows: {LOCATION}."
    yield from _rest(found, lambda several: full_table(headings, several))


def _rest(found: Sequence[Row], shown: Callable[[Sequence[Row]], str]) -> Iterator[str]:
    if len(found) > (open_rows := _shown(found)):
        yield SEPARATOR
        yield from collapsed(f"{len(found) - open_rows:,} more", found[open_rows:], shown)


def _shown(found: Sequence[object]) -> int:
    """How many rows no click has to open: one more takes no more room than the line that counts it."""
    return _MAX_OPEN_ROWS + (len(found) == _MAX_OPEN_ROWS + 1)


def collapsed(what: str, rows: Sequence[Row], shown: Callable[[Sequence[Row]], str]) -> Iterator[str]:
    """Rows that are collapsed until a click: many in several pieces, of which a comment has those that fit."""
    pieces = list(_pieces(rows, shown))
    done = 0
    for piece in pieces:
        if done:
            yield SEPARATOR
        numbers = f": {done + 1:,} to {done + len(piece):,} of {len(rows):,}" if len(pieces) > 1 else ""
        yield from details(f"{what}{numbers}", [shown(piece)])
        done += len(piece)


def _pieces(rows: Sequence[Row], shown: Callable[[Sequence[Row]], str]) -> Iterator[Sequence[Row]]:
    start = size = 0
    heading = len(shown(rows[:0]).encode())
    for index, row in enumerate(rows):
        more = len(shown([row]).encode()) - heading
        if size and size + more > _COLLAPSED_BYTES:
            yield rows[start:index]
            start, size = index, 0
        size += more
    yield rows[start:]
