"""Columns of a Parquet file, read from its footer with the standard library: committers' images hold no pyarrow.

The footer is a structure in Thrift's compact protocol; its second field lists the columns, depth first.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorplane.errors import TensorplaneError

_MAGIC = b"PAR1"
_TAIL = 8
_UNREADABLE = "has a footer that cannot be read"
_MOST_BYTES = 64 << 20
_PHYSICAL = ("bool", "int32", "int64", "int96", "float32", "float64", "binary", "fixed")
_CONVERTED = {
    0: "string",
    5: "decimal",
    6: "date",
    9: "timestamp",
    10: "timestamp",
    11: "uint8",
    12: "uint16",
    13: "uint32",
    14: "uint64",
    15: "int8",
    16: "int16",
}
_LOGICAL = {1: "string", 5: "decimal", 6: "date", 8: "timestamp"}
_LOGICAL_INTEGER = 10
TYPES = {*_PHYSICAL, *_CONVERTED.values(), "nested"}
"""Types of columns. `nested` is a list, map or structure."""


class ParquetError(TensorplaneError, ValueError):
    """A file is no Parquet file that can be read."""


class SameNameError(ParquetError):
    """Several columns of a file have one name."""


def columns(path: Path) -> dict[str, str]:
    """The type of each top-level column by its name. Raises SameNameError if several have one name, ParquetError if
    it is no Parquet file.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < len(_MAGIC) + _TAIL or file.read(len(_MAGIC)) != _MAGIC:
            raise ParquetError("is no Parquet file")
        file.seek(-_TAIL, os.SEEK_END)
        length, magic = struct.unpack("<I4s", file.read(_TAIL))
        if magic != _MAGIC or length > min(size - _TAIL, _MOST_BYTES):
            raise ParquetError("is no complete Parquet file")
        file.seek(-_TAIL - length, os.SEEK_END)
        footer = file.read(length)
    try:
        fields = _Compact(footer).structure()
        found = list(_top_level(fields[2]))
    except (IndexError, KeyError, TypeError, struct.error, RecursionError):
        raise ParquetError(_UNREADABLE) from None
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        raise SameNameError(f"has several columns {max(names, key=names.count)}")
    return dict(found)


def _top_level(elements: list[dict[int, Any]]) -> Iterator[tuple[str, str]]:
    place = 1
    for _ in range(elements[0].get(5, 0)):
        element = elements[place]
        yield element[4].decode(), _type(element)
        place = _after(elements, place)


def _after(elements: list[dict[int, Any]], place: int) -> int:
    """The place of the next element that is not below this one."""
    children = elements[place].get(5, 0)
    place += 1
    for _ in range(children):
        place = _after(elements, place)
    return place


def _type(element: dict[int, Any]) -> str:
    if element.get(5) or element.get(3) == 2:  # a group, or repeated
        return "nested"
    for kind, value in element.get(10, {}).items():
        if kind == _LOGICAL_INTEGER:
            return f"{'' if value.get(2) else 'u'}int{value[1]}"
        if kind in _LOGICAL:
            return _LOGICAL[kind]
    return _CONVERTED.get(element.get(6, -1)) or _PHYSICAL[element[1]]


class _Compact:
    """A reader of Thrift's compact protocol: structures become dictionaries by the fields' numbers."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def structure(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            step, kind = header >> 4, header & 15
            number = number + step if step else self._integer()
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):  # in a list, a boolean is a byte
            return self._byte() == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:
            return struct.unpack("<d", self._bytes(8))[0]
        if kind == 8:
            return self._bytes(self._number())
        if kind in (9, 10):
            header = self._byte()
            count = header >> 4 if header >> 4 != 15 else self._number()
            return [self._value(header & 15) for _ in range(count)]
        if kind == 11:
            count = self._number()
            kinds = self._byte() if count else 0
            return [(self._value(kinds >> 4), self._value(kinds & 15)) for _ in range(count)]
        if kind == 12:
            return self.structure()
        raise ParquetError(_UNREADABLE)

    def _integer(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise ParquetError(_UNREADABLE)
        return self._data[self._at - count : self._at]
