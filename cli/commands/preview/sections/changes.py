"""Every change, property by property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from rich.table import Table
from rich.text import Text

from tensorplane.cli.commands.preview import property_path
from tensorplane.cli.commands.preview.report import Property, Report
from tensorplane.cli.commands.preview.rows import Row, common_apart, rarest_first, rows, together
from tensorplane.cli.commands.preview.section import SEPARATOR, collapsed
from tensorplane.cli.output import markdown as md
from tensorplane.cli.output.escaping import Markdown, code
from tensorplane.cli.output.tables import table
from tensorplane.cli.output.texts import bold, first_names, folded

_HEADINGS = ("change", "resource", "properties")
_MAX_NAMES = 3
"""Names in a row on the terminal, and in one of Markdown that has more than `_MAX_ALL_NAMES`."""
_MAX_ALL_NAMES = 30
_PATH_LIMIT = 40
"""Characters of a path whose beginning is in another row."""
_GAP = 2
"""Spaces between columns."""
_STYLES = {"create": "green", "update": "yellow", "replace": "magenta", "delete": "red"}


def terminal(report: Report, width: int) -> Iterator[Table]:
    """A table. Where the words of its columns do not fit side by side, properties are below their resource."""
    if not report.changes:
        return
    found = list(common_apart(list(together(rows(report.changes)))))
    cells = [_cells(row) for row in found]
    if _fits((_HEADINGS, *cells), width):
        yield table(_HEADINGS, ((_operation(row), *texts) for row, (_, *texts) in zip(found, cells, strict=True)))
    else:
        left = width - _GAP - max(len(text) for text in (_HEADINGS[0], *(row.words for row in found)))
        yield table(_HEADINGS[:2], ((_operation(row), _stacked(row, left)) for row in found))


def markdown(report: Report) -> Iterator[str]:
    """A table that a click opens: a comment on a pull request stays short. What is not like many others is first."""
    if report.changes:
        yield "## Every changed resource"
        found = list(common_apart(rarest_first(list(together(rows(report.changes))))))
        cells = [_markdown_cells(row) for row in found]
        yield from collapsed("The resources and their properties", cells, partial(md.full_table, _HEADINGS))
        if many := [row for row in found if len(row.names) > _MAX_ALL_NAMES]:
            yield SEPARATOR
            yield from collapsed("All names", [_all_names(row) for row in many], md.bullets)


def _operation(row: Row) -> Text:
    return Text(row.words, style=_STYLES.get(row.operation, ""))


def _cells(row: Row) -> tuple[str, str, str]:
    return row.words, _resources(row), "\n".join(_lines(row))


def _fits(texts: Iterable[Sequence[str]], width: int) -> bool:
    """Whether the longest word of each column has room."""
    longest = [max(len(word) for text in column for word in (*text.split(), "")) for column in zip(*texts, strict=True)]
    return sum(longest) + _GAP * (len(longest) - 1) <= width


def _stacked(row: Row, width: int) -> str:
    """A resource and, indented below it, its properties."""
    indent = " " * _GAP
    lines = folded(_resources(row), width)
    for each in _lines(row):
        head, *rest = folded(each, width - 2 * _GAP)
        lines += [indent + head, *(2 * indent + line for line in rest)]
    return "\n".join(lines)


def _resources(row: Row) -> str:
    if len(row.names) == 1:
        return f"{row.type} {row.names[0]}"
    return f"{len(row.names)} {row.type}: {first_names(row.names, _MAX_NAMES)}"


def _lines(row: Row) -> Iterator[str]:
    yield from map(_line, row.properties)
    yield from (f"{path}: of each another" for path in row.apart)
    if row.note:
        yield row.note


def _line(changed: Property) -> str:
    values = " → ".join(value for value in (changed.old, changed.new) if value)
    return f"{changed.path}: {values}".removesuffix(": ")


def _markdown_cells(row: Row) -> tuple[str, str, Markdown]:
    count = f"{len(row.names):,} " if len(row.names) > 1 else ""
    properties = Markdown("<br>".join(_markdown_lines(row)))
    names = first_names(row.names, _MAX_NAMES) if len(row.names) > _MAX_ALL_NAMES else ", ".join(row.names)
    return row.words, f"{count}{row.type} {bold(names)}", properties


def _all_names(row: Row) -> str:
    return f"{row.words} {len(row.names):,} {row.type}: {', '.join(row.names)}"


def _markdown_lines(row: Row) -> Iterator[str]:
    """A line for each change of values, with all of the properties that change so."""
    paths: dict[tuple[str, ...], list[str]] = {}
    for each in row.properties:
        path = property_path.truncate_start(each.path, _PATH_LIMIT) if row.like else each.path
        paths.setdefault((_values(each), "replaces" * each.replaces, each.full_values), []).append(code(path))
    for (values, replaces, _), names in paths.items():
        yield f"{', '.join(names)}{f' ({replaces})' if replaces else ''}{values}"
    if row.apart:
        yield f"in rows of their own: {', '.join(map(code, row.apart))}"
    if row.note:
        yield row.note


def _values(changed: Property) -> str:
    values = " → ".join(code(value) for value in (changed.old, changed.new) if value)
    sign = {(False, True): "+ ", (True, False): "- "}.get((bool(changed.old), bool(changed.new)), "")
    return f": {sign}{values}" if values else ""
