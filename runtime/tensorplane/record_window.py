"""A window of a topic's records, which becomes one version of a dataset."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tensorplane import strict_json

LINES, FILES = "lines", "files"
"""Layouts: a file of JSON lines for each partition and window, or a file for each record."""


@dataclass(frozen=True)
class Limits:
    """When a window ends: with the first limit that is reached."""

    records: int
    size: int
    """Bytes of the records' values."""
    seconds: float
    """Since its first record was read."""


@dataclass
class Window:
    """Records of all partitions, in the order of each partition."""

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    """Seconds since any moment."""
    records: int = 0
    size: int = 0
    """Bytes of their values."""
    _values: dict[int, list[tuple[int, bytes | None]]] = field(default_factory=dict)
    """Offset and value of each record, by partition."""
    _began: float | None = None

    def add(self, partition: int, offset: int, value: bytes | None) -> None:
        """Adds the next record of a partition."""
        if self._began is None:
            self._began = self.clock()
        self._values.setdefault(partition, []).append((offset, value))
        self.records += 1
        self.size += len(value or b"")

    @property
    def free_records(self) -> int:
        """How many more records it may have."""
        return max(0, self.limits.records - self.records)

    @property
    def seconds_left(self) -> float:
        """Until it ends. A window without records does not end."""
        left = self.limits.seconds
        return left if self._began is None else max(0.0, self._began + left - self.clock())

    @property
    def is_over(self) -> bool:
        """Whether it has records and a limit is reached."""
        return self.records > 0 and (not self.free_records or self.size >= self.limits.size or not self.seconds_left)

    @property
    def after(self) -> dict[int, int]:
        """The offset after the last record of each of its partitions."""
        return {partition: values[-1][0] + 1 for partition, values in sorted(self._values.items())}

    def files(self, layout: str) -> Iterator[tuple[str, bytes]]:
        """Paths and contents of its files, which no other window has."""
        for partition, values in sorted(self._values.items()):
            if layout == FILES:
                yield from ((f"{partition}/{offset:020d}", value or b"") for offset, value in values)
            else:
                yield from _lines(partition, values)


def _lines(partition: int, values: list[tuple[int, bytes | None]]) -> Iterator[tuple[str, bytes]]:
    """One file with the values that are JSON, a line each; the others are files of their own, so that none is lost."""
    lines = []
    for offset, value in values:
        if (line := _line(value)) is None:
            yield f"no-json/{partition}/{offset:020d}", value or b""
        else:
            lines.append(line)
    if lines:
        yield f"{partition}/{values[0][0]:020d}.jsonl", b"".join(lines)


def _line(value: bytes | None) -> bytes | None:
    """A value as one line; None if it is no JSON. A record without a value is `null`."""
    if value is None:
        return b"null\n"
    try:
        strict_json.check(value)
    except ValueError:
        return None
    # Numbers and strings stay as they are written. In JSON, the end of a line is between them only.
    return value.strip().replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"
