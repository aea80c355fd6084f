"""How the parts of several inputs come together: what one pod works on, and which parts find no partner."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tensorplane.datasets import Refused
from tensorplane.stages.description import Stage
from tensorplane.stages.parts import Item, Part

Key = tuple[str, ...]
_MOST_FAULTS = 3
MOST_COMBINATIONS = 200_000
"""Parts that a join can make: the agent that plans them has memory for no more."""


def items(stage: Stage, found: Mapping[str, Sequence[Part]]) -> list[Item]:
    """What pods work on. `found`: the parts of each input. Those that are not split are in all items.

    Parts that are joined by name come together where their keys are equal. Of an input whose key is stated, several
    parts may have one key: then there is each combination. Raises Refused where the key is not stated and two parts
    of an input have the same, and for more than MOST_COMBINATIONS.
    """
    always = {each.name: found[each.name][0] for each in stage.inputs if each.is_whole}
    apart = {each.name: found[each.name] for each in stage.inputs if not each.is_whole}
    if stage.join != "name":
        _limit(stage, [apart])
        return [Item({**always, **chosen}) for chosen in _combined(apart)]
    keys = {each.name: _by_key(found[each.name], each.key) for each in stage.inputs if not each.is_whole}
    stated = {each.name for each in stage.inputs if each.key}
    if faults := [line for name in keys if name not in stated for line in _ambiguous(stage.name, name, keys[name])]:
        more = [f"and {len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
        raise Refused("\n".join(faults[:_MOST_FAULTS] + more))
    common = sorted(set.intersection(*map(set, keys.values()))) if keys else []
    groups = [{name: of_key[key] for name, of_key in keys.items()} for key in common]
    _limit(stage, groups)
    return [Item({**always, **chosen}) for each in groups for chosen in _combined(each)]


def left_out(stage: Stage, found: Mapping[str, Sequence[Part]], made: Iterable[Item]) -> dict[str, int]:
    """How many parts of each split input found no partner by their names; empty if all have one."""
    if stage.join != "name":
        return {}
    used = {each.name: set[str]() for each in stage.inputs if not each.is_whole}
    for item in made:
        for name in used:
            used[name].add(item.parts[name].name)
    counts = {name: len(found[name]) - len(names) for name, names in used.items()}
    return counts if any(counts.values()) else {}


def _limit(stage: Stage, groups: Iterable[Mapping[str, Sequence[Part]]]) -> None:
    """Refuses more than MOST_COMBINATIONS before any is made. A part with one partner is no combination."""
    made = single = 0
    for each in groups:
        made += math.prod(map(len, each.values()))
        single += max(map(len, each.values()), default=0)
    if made > max(MOST_COMBINATIONS, single):
        names = [each.name for each in stage.inputs if not each.is_whole]
        splits = " or ".join(f"inputs.{name}.split" for name in names)
        remedy = "use keys that fewer parts share" if stage.join == "name" else f"set {splits} to larger batches"
        problem = f"{' and '.join(names)} have {made:,} combinations of parts, more than {MOST_COMBINATIONS:,}"
        raise Refused(f"{stage.name}: {problem}; {remedy}")


def _combined(parts: Mapping[str, Sequence[Part]]) -> Iterator[dict[str, Part]]:
    """Each part of an input with each of the others."""
    pairs = ([(name, part) for part in each] for name, each in parts.items())
    return (dict(chosen) for chosen in itertools.product(*pairs))


def _by_key(parts: Iterable[Part], stated: str | None) -> dict[Key, list[Part]]:
    """The parts that have a key."""
    found: dict[Key, list[Part]] = {}
    for part in parts:
        if (key := _key(part, stated)) is not None:
            found.setdefault(key, []).append(part)
    return found


def _key(part: Part, stated: str | None) -> Key | None:
    """The key of a part. By default its name, of a file without what follows the last dot: folders have no endings."""
    if stated is None:
        return (_without_ending(part.name) if part.name in part.paths else part.name,)
    found = re.fullmatch(stated, part.name)
    return found.groups() if found else None


def _without_ending(name: str) -> str:
    """A path without the last dot of its name and what follows; a dot that begins or ends a name stays.

    Not by `pathlib`, for which `a.` has an ending since Python 3.14: images may have any.
    """
    stem, _, ending = name.rpartition("/")[2].rpartition(".")
    return name[: -len(ending) - 1] if stem and ending else name


def _ambiguous(stage: str, name: str, keys: Mapping[Key, Sequence[Part]]) -> Iterator[str]:
    """A line for each key that several parts of an input have."""
    for key, parts in sorted(keys.items()):
        if len(parts) > 1:
            names = ", ".join(repr(part.name) for part in parts[:_MOST_FAULTS]) + (
                ", …" if len(parts) > _MOST_FAULTS else ""
            )
            problem = f"{len(parts)} parts have the key {key[0]!r} ({names})"
            remedy = f"set inputs.{name}.key to a pattern, which allows equal keys, or rename them"
            yield f"{stage}.inputs.{name}: {problem}; {remedy}"
