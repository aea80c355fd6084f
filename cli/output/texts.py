"""Texts of cells and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

BOLD = ("\x02", "\x03")
"""Begin and end of what is bold in a line for people: signs that no name has, unlike stars."""


def bold(text: str) -> str:
    """A part of a line that is bold on the terminal and in Markdown."""
    begin, end = BOLD
    return f"{begin}{text.replace(begin, '').replace(end, '')}{end}"


def parts(line: str) -> Iterator[tuple[str, bool]]:
    """The parts of a line, each with whether it is bold."""
    return ((part, bool(index % 2)) for index, part in enumerate(re.split(f"[{''.join(BOLD)}]", line)))


def first_names(names: Sequence[str], most: int, *, between: str = ", ", rest: str = " and ") -> str:
    """Names; of many, the first ones and the number of the others, which are several."""
    most += len(names) == most + 1
    more = len(names) - most
    return between.join(names[:most]) + (f"{rest}{more} more" if more > 0 else "")


def before_after(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """Cells before and after a change, as `before → after` if they differ. One of the two may be empty."""
    if not (before and after):
        return tuple(before or after)
    return tuple(old if old == new else f"{old} → {new}" for old, new in zip(before, after, strict=True))


def folded(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters, wrapped between words; a longer word is broken after a `.`, `/`, `:`, `-`
    or `=`, or before a `[`, and where it has none of these, at the width.
    """
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}" if lines[-1] else word
        else:
            lines += _broken(word, width)
    return [line for line in lines if line]


def _broken(word: str, width: int) -> list[str]:
    # The longest part that ends at a joint, or else as much as fits.
    return re.findall(rf".{{1,{width}}}(?:(?<=[-./:=])|(?=\[)|$)|.{{{width}}}", word)
