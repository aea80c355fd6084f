"""Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. The cells are Markdown: see `cell`."""
    lines = [f"| {' | '.join(line)} |" for line in (headings, *rows)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])


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
