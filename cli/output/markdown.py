"""Markdown for GitHub and GitLab. Texts that are no `Markdown` are shown as they are: see `escaping`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tensorplane.cli.output.escaping import Markdown, code, inline, line, visible
from tensorplane.cli.output.numbers import NOTHING

_EMPTY_CELLS = ("", NOTHING)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    head = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(map(inline, row))} |" for row in rows)])


def full_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without the columns in which no row has anything; the first column stays."""
    found = list(rows)
    full = [
        index for index in range(len(headings)) if not index or any(row[index] not in _EMPTY_CELLS for row in found)
    ]
    return table([headings[index] for index in full], ([row[index] for index in full] for row in found))


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line(each)}" for each in lines)


def lines_of_code(texts: Iterable[str]) -> Markdown:
    """Texts as code in a cell of a table, one below the other."""
    return Markdown("<br>".join(map(code, texts)))


def fenced(lines: Iterable[str]) -> str:
    """Lines in a font of one width, with their spaces."""
    shown = [visible(each) for each in lines]
    fence = "`" * max([3, *(1 + len(run) for text in shown for run in re.findall("`+", text))])
    return "\n".join([fence, *shown, fence])


def details(summary: str, blocks: Iterable[str]) -> Iterator[str]:
    """Blocks that a click opens. The summary is shown as it is, and must name nothing that somebody else chose."""
    yield f"<details><summary>{summary}</summary>"
    yield from blocks
    yield "</details>"
