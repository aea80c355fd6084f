"""Holds objects against what an API takes: names and types of fields, which must be there, which values are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fields:
    """An object of which some fields must be there. One without such fields is written as a plain mapping."""

    known: Mapping[Any, Any]
    required: frozenset[str]


@dataclass(frozen=True)
class Whole:
    """A whole number within limits, also where it reached a mock as a float."""

    least: int = 0
    most: int = 1 << 31


def fields(*required: str, **known: Any) -> Fields:
    return Fields(known, frozenset(required))


def differences(path: str, value: Any, kind: Any) -> Iterator[str]:
    """What of the value is not of its kind: a type, the values of a set, a pattern, a list or an object of kinds.

    A mapping with the key `str` takes any name beside those that it tells.
    """
    if isinstance(kind, Fields | Mapping):
        yield from _inside(path, value, kind)
    elif isinstance(kind, list):
        if not isinstance(value, list):
            yield f"{path}: {value!r} is no list"
            return
        for index, item in enumerate(value):
            yield from differences(f"{path}[{index}]", item, kind[0])
    elif needed := _unfit(value, kind):
        yield f"{path}: {value!r} is {needed}"


def _inside(path: str, value: Any, kind: Fields | Mapping[Any, Any]) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no object"
        return
    kind = kind if isinstance(kind, Fields) else Fields(kind, frozenset())
    for key in sorted(kind.required - value.keys()):
        yield f"{path}.{key}: missing".lstrip(".")
    for key, item in value.items():
        where = f"{path}.{key}".lstrip(".")
        wanted = kind.known.get(key, kind.known.get(str))
        if wanted is None:
            yield f"{where}: unknown field"
        else:
            yield from differences(where, item, wanted)


def _unfit(value: Any, kind: Any) -> str | None:
    """What a single value is not, or None where it fits."""
    if isinstance(kind, set):
        return None if value in kind else f"none of {sorted(kind)}"
    if isinstance(kind, re.Pattern):
        return None if isinstance(value, str) and kind.fullmatch(value) else f"no match of {kind.pattern}"
    if isinstance(kind, Whole):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = number and value == int(value) and kind.least <= value <= kind.most
        return None if fits else f"no whole number from {kind.least} to {kind.most}"
    # By identity: True is an int otherwise.
    return None if type(value) is kind else f"no {kind.__name__}"
