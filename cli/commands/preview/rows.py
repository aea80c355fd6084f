"""Changed resources as rows: equal changes of many as one, and which of many is not like the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby

from tensorplane.cli.commands.preview.property_path import BETWEEN, excerpts
from tensorplane.cli.commands.preview.report import Change, Property

LEAST_GROUPED = 4
"""From so many on, resources with equal changes share a row."""
_NAME_PLACEHOLDER, _DIGEST_PLACEHOLDER = "NAME", "-DIGEST"
"""For a name, and for the digest after it, in a row of several resources."""

_OF_ACCESS = re.compile(r"serviceAccount|[sS]ecurityContext|host(Network|PID|IPC|Path)|secret", re.IGNORECASE)
"""Properties that decide who may do or reach what."""
_DERIVED = re.compile(r'env\["(TENSORPLANE_|TF_CONFIG)|\.digest$|^metadata\.name$')
"""Properties that follow from others."""


@dataclass(frozen=True)
class Row:
    """A change of one resource, or the same change of several."""

    operation: str
    type: str
    names: tuple[str, ...]
    properties: tuple[Property, ...] = ()
    is_protected: bool = False
    apart: tuple[str, ...] = ()
    """Paths of properties that change too, of each resource in another way: other rows have them."""
    like: int = 0
    """Of how many resources another row has the properties that change in the same way; 0 if this one has them all."""

    @property
    def note(self) -> str:
        """Where the rest of its properties is; empty if there is none."""
        return f"the rest as of all {self.like:,}" if self.like else ""

    @property
    def words(self) -> str:
        """The operation, and whether protection blocks it."""
        return f"{self.operation} (blocked)" if self.is_protected else self.operation


def rows(changes: Iterable[Change]) -> Iterator[Row]:
    """Rows in the order of the changes."""
    for (operation, kind, has_no_properties, is_protected), alike in groupby(
        changes, lambda c: (c.operation, c.type, not c.properties, c.is_protected)
    ):
        several = list(alike)
        if has_no_properties and len(several) >= LEAST_GROUPED:
            yield Row(operation, kind, tuple(change.name for change in several), is_protected=is_protected)
        else:
            yield from (Row(operation, kind, (change.name,), change.properties, is_protected) for change in several)


def together(found: Iterable[Row]) -> Iterator[Row]:
    """The rows; those of many resources with the same changes, but for their names, as one."""
    groups: dict[Row, list[Row]] = {}
    for row in found:
        any_row = replace(row, names=(), properties=tuple(map(partial(of_any, row.names[0]), row.properties)))
        groups.setdefault(any_row if row.properties else row, []).append(row)
    for merged, several in groups.items():
        if len(several) >= LEAST_GROUPED:
            yield replace(merged, names=tuple(row.names[0] for row in several))
        else:
            yield from several


def differing(row: Row) -> tuple[Property, ...]:
    """The properties that do not only name another run of the same; all of them if each does."""
    return tuple(each for each in row.properties if not _names_a_run(row.names[0], each)) or row.properties


def shape(row: Row) -> tuple[str, str, tuple[str, ...]]:
    """What kind of change it is: the operation, the type, and what differs."""
    return row.operation, row.type, tuple(each.path for each in differing(row))


def is_derived(changed: Property) -> bool:
    """Whether a property follows from others."""
    return bool(_DERIVED.search(changed.path))


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
        return any(self.of(row, each) < LEAST_GROUPED for each in differing(row))

    def rarest_path(self, row: Row) -> int:
        """Of how many resources its rarest property changes at all."""
        return min((self._paths[self._path(row, each)] for each in differing(row)), default=0)

    def of(self, row: Row, changed: Property) -> int:
        """How many they are."""
        path = self._path(row, changed)
        values = self._values[path]
        is_common = max(values.values()) >= max(LEAST_GROUPED, self._paths[path] / 2)
        return values[of_any(row.names[0], changed)] if is_common else self._paths[path]

    def ordered(self, row: Row, properties: Iterable[Property]) -> list[Property]:
        """The telling ones first: of access, then those that change so of few resources, or replace this one."""

        def key(each: Property) -> tuple[object, ...]:
            return not _OF_ACCESS.search(each.path), self.of(row, each), is_derived(each), not each.replaces

        found = list(properties)
        differ = set(differing(row))
        return [*sorted((each for each in found if each in differ), key=key), *(e for e in found if e not in differ)]

    @staticmethod
    def _path(row: Row, changed: Property) -> tuple[str, ...]:
        return row.operation, row.type, changed.path


def rarest_first(found: Sequence[Row]) -> list[Row]:
    """The rows, those first of whose kind of change there are less than four resources."""
    ranks = Ranks(found)
    counts: Counter[object] = Counter()
    for row in found:
        counts[shape(row)] += len(row.names)
    few = {kind for kind, count in counts.items() if count < LEAST_GROUPED}
    return sorted(found, key=lambda row: 0 if shape(row) in few or ranks.is_odd(row) else counts[shape(row)])


def size(found: Iterable[Row]) -> int:
    """How many resources the rows are of."""
    return sum(len(row.names) for row in found)


def common_apart(found: Sequence[Row]) -> Iterator[Row]:
    """The rows. Of four resources or more in which the same properties change, a row has the changes that all have in
    common, and others only what differs; before it, those of which there are few.
    """
    ranks = Ranks(found)
    found = [replace(row, properties=tuple(ranks.ordered(row, row.properties))) for row in found]
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in found:
        paths = frozenset(each.path for each in row.properties)
        groups.setdefault((row.operation, row.type, row.is_protected, paths), []).append(row)
    for several in groups.values():
        yield from _common_and_rest(several, ranks) if len(several) > 1 and size(several) >= LEAST_GROUPED else several


def _common_and_rest(several: Sequence[Row], ranks: Ranks) -> Iterator[Row]:
    each_has = [{of_any(row.names[0], each) for each in row.properties} for row in several]
    in_common = each_has[0].intersection(*each_has)
    if not in_common:
        yield from several
        return
    one, count = several[0], size(several)
    same = tuple(each for each in (of_any(one.names[0], own) for own in one.properties) if each in in_common)
    paths = {each.path for each in same}
    apart = tuple(each.path for each in one.properties if each.path not in paths)
    odd, others = ([row for row in several if ranks.is_odd(row) == is_odd] for is_odd in (True, False))
    yield from _rest(odd, paths, count)
    yield replace(one, names=_names(several), properties=same, apart=apart)
    yield from _rest(others, paths, count)


def _rest(several: Iterable[Row], common: Set[str], count: int) -> Iterator[Row]:
    """The rows without what they have in common; equal ones as one."""
    found: dict[tuple[Property, ...], list[Row]] = {}
    for row in several:
        apart = [each for each in row.properties if each.path not in common]
        changes = {(each.old, each.new) for each in apart if not is_derived(each)}
        telling = (each for each in apart if not is_derived(each) or (each.old, each.new) not in changes)
        own = replace(row, properties=tuple(telling), like=count)
        found.setdefault(tuple(of_any(row.names[0], each) for each in own.properties), []).append(own)
    for properties, group in found.items():
        yield group[0] if len(group) == 1 else replace(group[0], names=_names(group), properties=properties)


def _names(several: Iterable[Row]) -> tuple[str, ...]:
    return tuple(name for row in several for name in row.names)


def _names_a_run(name: str, changed: Property) -> bool:
    found = of_any(name, changed)
    before, _, after = found.full_values.partition(BETWEEN) if found.full_values else (found.old, "", found.new)
    return before == after and _NAME_PLACEHOLDER in before


@cache
def of_any(name: str, changed: Property) -> Property:
    """A property as it is of any resource: without this one's name, also where a digest follows."""
    own = _own(name)
    full_values = _hidden(own, changed.full_values)
    if BETWEEN in full_values:
        old, new = excerpts(*full_values.split(BETWEEN, 1))
    else:
        old, new = (_without_end(name, _hidden(own, value)) for value in (changed.old, changed.new))
    return replace(changed, old=old if changed.old else "", new=new if changed.new else "", full_values=full_values)


def _hidden(own: re.Pattern[str], value: str) -> str:
    return own.sub(lambda found: f"{_NAME_PLACEHOLDER}{_DIGEST_PLACEHOLDER if found[1] else ''}", value)


@cache
def _own(name: str) -> re.Pattern[str]:
    """The name, with the digest after it."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(-[0-9a-f]{{8}}(?!\w)|-[0-9a-f]{{0,8}}(?=…))?(?!\w)")


def _without_end(name: str, value: str) -> str:
    """A value that is cut within a name, without this part of it."""
    end = re.search(r"([\w-]+)…$", value)
    return f"{value[: end.start()]}…" if end and name.startswith(end[1]) else value
