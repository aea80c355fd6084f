"""The beginning of the report, within a limit whatever the size of the stack: all that decides about the update."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tensorplane.cli.output.escaping import line

LIMIT = 8_000
"""Bytes of the whole beginning."""
_REST_BYTES, _SEPARATOR_BYTES = 60, 3
"""Bytes of the line that counts what is left out; between two items."""
_LEAST_ITEM_BYTES = 130
"""Bytes to which an item is shortened at most."""


@dataclass(frozen=True)
class Block:
    """A list under a heading, or a sentence of several parts."""

    title: str
    items: Sequence[str]
    """Texts, the most important first."""
    is_list: bool = False
    when: str = ""
    """Under which condition it holds; empty if it does."""
    has_section: bool = False
    """Whether a section has all of it, more in detail."""

    @property
    def weight(self) -> int:
        """Its share of the beginning, as a multiple."""
        return 1 if self.has_section else 3

    @cached_property
    def markdown(self) -> str:
        """As Markdown."""
        return self._of(list(map(line, self.items)))

    def markdown_within(self, limit: int) -> str:
        """As Markdown of at most so many bytes: long items are shortened, so that more fit; the others are counted."""
        if _size(self.markdown) <= limit:
            return self.markdown
        left = limit - _size(self._of([])) - _REST_BYTES
        share = max(left // len(self.items) - _SEPARATOR_BYTES, _LEAST_ITEM_BYTES)
        fitting: list[str] = []
        for item in self.items:
            shown = _truncate(item, share)
            if (left := left - _size(shown) - _SEPARATOR_BYTES) < 0:
                break
            fitting.append(shown)
        return self._of(fitting, len(self.items))

    def _of(self, items: Sequence[str], of: int = 0) -> str:
        others = of - len(items)
        if self.is_list:
            more = [f"**and {others:,} more, below**"] if others > 0 else []
            return "\n".join([f"## {self.title}{self.when}\n", *(f"- {each}" for each in (*items, *more))])
        more = [f"and {others:,} more, below"] if others > 0 else []
        return f"**{self.title}{self.when}:** {'; '.join([*items, *more])}."


def fit_parts(parts: Sequence[Block | str], limit: int = LIMIT) -> Iterator[str]:
    """The parts within the limit. Texts are whole, and so are blocks that need no more than their share of the rest;
    the others share what these leave.
    """
    left = limit - sum(_size(part) + 2 for part in parts if isinstance(part, str))
    found = (part for part in parts if isinstance(part, Block))
    blocks = sorted(found, key=lambda block: _size(block.markdown) / block.weight)
    weights = sum(block.weight for block in blocks)
    shares: dict[int, int] = {}
    for block in blocks:
        shares[id(block)] = min(_size(block.markdown) + 2, left * block.weight // weights)
        left -= shares[id(block)]
        weights -= block.weight
    for part in parts:
        yield part if isinstance(part, str) else part.markdown_within(shares[id(part)] - 2)


def _size(text: str) -> int:
    return len(text.encode())


def _truncate(text: str, limit: int) -> str:
    """The text as Markdown of at most so many bytes, shortened."""
    shown = text
    while _size(line(shown)) > limit:
        shown = f"{shown[: len(shown) * 9 // 10 - 1]}…"
    return line(shown)
