"""Every change, property by property."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby

from rich.table import Table
from rich.text import Text

from cli.commands.preview.report import Change, Property, Report
from cli.commands.preview.section import CUT, closed
from cli.output import markdown as md
from cli.output.escaping import Markdown, code
from cli.output.tables import table
from cli.output.texts import bold, first, folded

_HEADINGS = ("change", "resource", "properties")
_MANY = 4
"""Resources of one type that are created or deleted without listed properties and share a row."""
_NAMES = 3
"""Names in a row on the terminal, and in one of Markdown that has more than `_ALL_NAMES`."""
_ALL_NAMES = 30
_OTHERS, _DIGEST = "NAME", "-DIGEST"
"""For a name, and for the digest after it, in a row of several resources."""
_GAP = 2
"""Spaces between columns."""
_STYLES = {"create": "green", "update": "yellow", "replace": "magenta", "delete": "red"}


@dataclass(frozen=True)
class Row:
    """A change of one resource, or the same change of several."""

    operation: str
    type: str
    names: tuple[str, ...]
    properties: tuple[Property, ...] = ()
    blocked: bool = False

    @property
    def words(self) -> str:
        """The operation, and whether protection blocks it."""
        return f"{self.operation} (blocked)" if self.blocked else self.operation


def rows(changes: Iterable[Change]) -> Iterator[Row]:
    """Rows in the order of the changes."""
    for (operation, kind, has_no_properties, blocked), alike in groupby(
        changes, lambda c: (c.operation, c.type, not c.properties, c.blocked)
    ):
        several = list(alike)
        if has_no_properties and len(several) >= _MANY:
            yield Row(operation, kind, tuple(change.name for change in several), blocked=blocked)
        else:
            yield from (Row(operation, kind, (change.name,), change.properties, blocked) for change in several)


def together(found: Iterable[Row]) -> Iterator[Row]:
    """The rows; those of many resources with the same changes, but for their names, as one."""
    groups: dict[Row, list[Row]] = {}
    for row in found:
        any_row = replace(row, names=(), properties=tuple(map(partial(of_any, row.names[0]), row.properties)))
        groups.setdefault(any_row if row.properties else row, []).append(row)
    for merged, several in groups.items():
        if len(several) >= _MANY:
            yield replace(merged, names=tuple(row.names[0] for row in several))
        else:
            yield from several


def differing(row: Row) -> tuple[Property, ...]:
    """The properties that do not only name another run of the same; all of them if each does."""
    return tuple(each for each in row.properties if not _names_a_run(row.names[0], each)) or row.properties


def shape(row: Row) -> tuple[str, str, tuple[str, ...]]:
    """What kind of change it is: the operation, the type, and what differs."""
    return row.operation, row.type, tuple(each.path for each in differing(row))


class Ranks:
    """Of how many resources a property changes so: to these values if most have them in common, else at all."""

    def __init__(self, found: Sequence[Row]) -> None:
        self._paths: Counter[tuple[str, ...]] = Counter()
        self._values: dict[tuple[str, ...], Counter[Property]] = {}
        for row in found:
            for each in differing(row):
                self._paths[self._path(row, each)] += len(row.names)
                values = self._values.setdefault(self._path(row, each), Counter())
                values[of_any(row.names[0], each)] += len(row.names)

    def is_odd(self, row: Row) -> bool:
        """Whether one of its properties changes so of less than four."""
        return any(self.of(row, each) < _MANY for each in differing(row))

    def rarest_path(self, row: Row) -> int:
        """Of how many resources its rarest property changes at all."""
        return min((self._paths[self._path(row, each)] for each in differing(row)), default=0)

    def of(self, row: Row, changed: Property) -> int:
        """How many they are."""
        path = self._path(row, changed)
        values = self._values[path]
        is_common = max(values.values()) >= max(_MANY, self._paths[path] / 2)
        return values[of_any(row.names[0], changed)] if is_common else self._paths[path]

    @staticmethod
    def _path(row: Row, changed: Property) -> tuple[str, ...]:
        return row.operation, row.type, changed.path


def rarest_first(found: Sequence[Row]) -> list[Row]:
    """The rows, those first of whose kind of change there are less than four resources."""
    ranks = Ranks(found)
    counts: Counter[object] = Counter()
    for row in found:
        counts[shape(row)] += len(row.names)
    few = {kind for kind, count in counts.items() if count < _MANY}
    return sorted(found, key=lambda row: 0 if shape(row) in few or ranks.is_odd(row) else counts[shape(row)])


def _names_a_run(name: str, changed: Property) -> bool:
    found = of_any(name, changed)
    return found.old == found.new and _OTHERS in found.old


def of_any(name: str, changed: Property) -> Property:
    """A property as it is of any resource: without this one's name, also where a digest follows."""
    own = _own(name)
    old, new = (
        _without_end(name, own.sub(lambda found: f"{_OTHERS}{_DIGEST if found[1] else ''}", value))
        for value in (changed.old, changed.new)
    )
    return replace(changed, old=old, new=new)


@cache
def _own(name: str) -> re.Pattern[str]:
    """The name, with the digest after it."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(-[0-9a-f]{{8}}(?!\w)|-[0-9a-f]{{0,8}}(?=…))?(?!\w)")


def _without_end(name: str, value: str) -> str:
    """A value that is cut within a name, without this part of it."""
    end = re.search(r"([\w-]+)…$", value)
    return f"{value[: end.start()]}…" if end and name.startswith(end[1]) else value


def terminal(report: Report, width: int) -> Iterator[Table]:
    """A table. Where the words of its columns do not fit side by side, properties are below their resource."""
    if not report.changes:
        return
    found = list(together(rows(report.changes)))
    cells = [_cells(row) for row in found]
    if _fits((_HEADINGS, *cells), width):
        yield table(_HEADINGS, ((_operation(row), *texts) for row, (_, *texts) in zip(found, cells, strict=True)))
    else:
        room = width - _GAP - max(len(text) for text in (_HEADINGS[0], *(row.words for row in found)))
        yield table(_HEADINGS[:2], ((_operation(row), _stacked(row, room)) for row in found))


def markdown(report: Report) -> Iterator[str]:
    """A table that a click opens: a comment on a pull request stays short. What is not like many others is first."""
    if report.changes:
        yield "## Every changed resource"
        found = rarest_first(list(together(rows(report.changes))))
        cells = [_markdown_cells(row) for row in found]
        yield from closed("The resources and their properties", cells, partial(md.full_table, _HEADINGS))
        if many := [row for row in found if len(row.names) > _ALL_NAMES]:
            yield CUT
            yield from closed("All names", [_all_names(row) for row in many], md.bullets)


def _operation(row: Row) -> Text:
    return Text(row.words, style=_STYLES.get(row.operation, ""))


def _cells(row: Row) -> tuple[str, str, str]:
    return row.words, _resources(row), "\n".join(_line(each) for each in row.properties)


def _fits(texts: Iterable[Sequence[str]], width: int) -> bool:
    """Whether the longest word of each column has room."""
    longest = [max(len(word) for text in column for word in (*text.split(), "")) for column in zip(*texts, strict=True)]
    return sum(longest) + _GAP * (len(longest) - 1) <= width


def _stacked(row: Row, room: int) -> str:
    """A resource and, indented below it, its properties."""
    indent = " " * _GAP
    lines = folded(_resources(row), room)
    for each in row.properties:
        head, *rest = folded(_line(each), room - 2 * _GAP)
        lines += [indent + head, *(2 * indent + line for line in rest)]
    return "\n".join(lines)


def _resources(row: Row) -> str:
    if len(row.names) == 1:
        return f"{row.type} {row.names[0]}"
    return f"{len(row.names)} {row.type}: {first(row.names, _NAMES)}"


def _line(changed: Property) -> str:
    values = " → ".join(value for value in (changed.old, changed.new) if value)
    return f"{changed.path}: {values}".removesuffix(": ")


def _markdown_cells(row: Row) -> tuple[str, str, Markdown]:
    count = f"{len(row.names):,} " if len(row.names) > 1 else ""
    properties = Markdown("<br>".join(_markdown_line(each) for each in row.properties))
    named = first(row.names, _NAMES) if len(row.names) > _ALL_NAMES else ", ".join(row.names)
    return row.words, f"{count}{row.type} {bold(named)}", properties


def _all_names(row: Row) -> str:
    return f"{row.words} {len(row.names):,} {row.type}: {', '.join(row.names)}"


def _markdown_line(changed: Property) -> str:
    values = " → ".join(code(value) for value in (changed.old, changed.new) if value)
    sign = {(False, True): "+ ", (True, False): "- "}.get((bool(changed.old), bool(changed.new)), "")
    why = " (replaces)" if changed.replaces else ""
    return f"{code(changed.path)}{why}" + (f": {sign}{values}" if values else "")
