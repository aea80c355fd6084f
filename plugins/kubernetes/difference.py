"""Which properties differ between an object's old and new inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from typing import Any, Literal

from tensorplane.plugins.kubernetes.paths import Path
from tensorplane.plugins.kubernetes.values import Unknown

Kind = Literal["ADD", "DELETE", "UPDATE"]

_MISSING = object()

# Where Kubernetes' API types hold quantities, which the server rewrites: `1024Mi` is stored as `1Gi`.
_QUANTITY_PARENTS = frozenset(
    [
        "capacity",
        "limits",
        "requests",
        "hard",
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
        "overhead",
        "podFixed",
    ]
)
_QUANTITY_NAMES = frozenset({"sizeLimit", "divisor"})
_SUFFIXES = {
    **{suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{suffix: Decimal(1000) ** -power for power, suffix in enumerate(("m", "u", "n"), start=1)},
}


@dataclass(frozen=True)
class Change:
    """A property that differs; `value`: the new one, None if it is removed."""

    kind: Kind
    path: Path
    value: Any


def changes(old: Any, new: Any, path: Path = ()) -> Iterator[Change]:
    """The outermost differing properties."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _compare(old.get(key, _MISSING), new.get(key, _MISSING), (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index, (was, shall_be) in enumerate(zip_longest(old, new, fillvalue=_MISSING)):
            # In a map, null means absent; in a list, it is an item.
            if was is _MISSING:
                yield Change("ADD", (*path, index), shall_be)
            elif shall_be is _MISSING:
                yield Change("DELETE", (*path, index), None)
            else:
                yield from changes(was, shall_be, (*path, index))
    elif not _same(old, new, path):
        yield Change("UPDATE", path, new)


def _compare(old: Any, new: Any, path: Path) -> Iterator[Change]:
    if new is _MISSING:
        if old is not None:
            yield Change("DELETE", path, None)
    elif old is _MISSING:
        if new is not None:
            yield Change("ADD", path, new)
    else:
        yield from changes(old, new, path)


def _same(old: Any, new: Any, path: Path) -> bool:
    if isinstance(new, Unknown):
        return False
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    return bool(old == new) or (_is_quantity(path) and _quantity(old) == _quantity(new) is not None)


def _is_quantity(path: Path) -> bool:
    return path[-1] in _QUANTITY_NAMES or (len(path) > 1 and path[-2] in _QUANTITY_PARENTS)


def _quantity(value: Any) -> Decimal | None:
    text = str(value)
    for suffix, factor in _SUFFIXES.items():
        if text.endswith(suffix):
            text, scale = text.removesuffix(suffix), factor
            break
    else:
        scale = Decimal(1)
    try:
        return Decimal(text) * scale
    except InvalidOperation:
        return None
