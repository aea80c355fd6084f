"""Equal lines about many things as one line, with their number and three names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from tensorplane.cli.output.escaping import visible
from tensorplane.cli.output.texts import first_names

_LEAST_GROUPED = 4
_MAX_NAMES = 3
_NAME = re.compile(r"\w(?:[\w.-]*\w)?")
_DIGIT = re.compile(r"\d")
_HOLE, _CELL = "\x00", "\x1f"
"""In the place of the name in a line; between two cells of a row."""
_NAME_PLACEHOLDER = "NAME"


class Together(str):
    """A line about many things."""

    many: int

    def __new__(cls, line: str, many: int) -> Together:
        """The line, and how many things it is about."""
        made = super().__new__(cls, line)
        made.many = many
        return made


def names(several: Sequence[str]) -> str:
    """Three names and the number of the others; four, if these are all."""
    return first_names(several, _MAX_NAMES)


def lines(given: Iterable[str], names: Collection[str]) -> list[str]:
    """From four on, lines that differ in one name alone are one, in the place of the first of them.

    `names`: what counts as a name.
    """
    found = [(line, _names_in(line, names)) for line in given]
    counts = Counter(shape for _, shapes in found for shape in shapes)
    chosen = [max(shapes, key=lambda shape: counts[shape]) if shapes else "" for _, shapes in found]
    groups: dict[str, list[str]] = {}
    for shape, (_, shapes) in zip(chosen, found, strict=True):
        if shape:
            groups.setdefault(shape, []).append(shapes[shape])
    many = {shape: _together(shape, several) for shape, several in groups.items() if len(several) >= _LEAST_GROUPED}
    result = []
    for shape, (line, _) in zip(chosen, found, strict=True):
        if len(groups.get(shape, ())) < _LEAST_GROUPED:
            result.append(line)
        elif shape in many:
            result.append(many.pop(shape))
    return result


def rarest_first(given: Sequence[str], names: Collection[str]) -> list[str]:
    """The lines, those first whose kind is about less than four things: they differ in names and numbers alone."""

    def of_any(match: re.Match[str]) -> str:
        return _HOLE if match[0] in names or _DIGIT.search(match[0]) else match[0]

    kinds = [_NAME.sub(of_any, line) for line in given]
    counts: Counter[str] = Counter()
    for kind, line in zip(kinds, given, strict=True):
        counts[kind] += line.many if isinstance(line, Together) else 1
    few = {kind for kind, count in counts.items() if count < _LEAST_GROUPED}
    order = sorted(range(len(given)), key=lambda index: 0 if kinds[index] in few else counts[kinds[index]])
    return [given[index] for index in order]


def rows(given: Iterable[Sequence[str]], names: Collection[str]) -> list[tuple[str, ...]]:
    """The same for rows of texts, whose first cell has the name."""
    return [tuple(line.split(_CELL)) for line in lines(map(_joined, given), names)]


def rarest_rows_first(given: Iterable[Sequence[str]], names: Collection[str]) -> list[tuple[str, ...]]:
    """The rows, those first whose kind is about less than four things."""
    return [tuple(line.split(_CELL)) for line in rarest_first(list(map(_joined, given)), names)]


def _joined(row: Sequence[str]) -> str:
    return _CELL.join(cell.replace(_CELL, visible(_CELL)) for cell in row)


def _names_in(line: str, names: Collection[str]) -> dict[str, str]:
    """The line without each of the names in it, and the name."""
    found = dict.fromkeys(match[0] for match in _NAME.finditer(line) if match[0] in names)
    return {_without(line, name): name for name in found}


def _without(line: str, name: str) -> str:
    return _NAME.sub(lambda match: _HOLE if match[0] == name else match[0], line)


def _together(shape: str, several: Sequence[str]) -> Together:
    text = shape.replace(_HOLE, first_names(several, _MAX_NAMES), 1).replace(_HOLE, _NAME_PLACEHOLDER)
    return Together(f"{len(several):,} × {text}", len(several))  # noqa: RUF001 (a sign that multiplies)
