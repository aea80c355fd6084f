"""Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cli.output.numbers import NOTHING

_NONE = ("", NOTHING)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. The cells are Markdown: see `cell`."""
    lines = [f"| {' | '.join(line)} |" for line in (headings, *rows)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])


def full_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without the columns in which no row has anything; the first column stays."""
    found = list(rows)
    full = [index for index in range(len(headings)) if not index or any(row[index] not in _NONE for row in found)]
    return table([headings[index] for index in full], ([row[index] for index in full] for row in found))


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines)


def cell(text: str) -> str:
    """Text in one line that ends no cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def details(summary: str, blocks: Iterable[str]) -> Iterator[str]:
    """Blocks that a click opens."""
    yield f"<details><summary>{summary}</summary>"
    yield from blocks
    yield "</details>"
