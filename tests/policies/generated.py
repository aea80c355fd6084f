"""Valid stacks by a seed: those of the repository with other numbers, more of their entries, spot nodes or none."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from tensorplane import stack
from tensorplane.core.errors import UserError
from tests.mutants.places import dotted, put, scalars, value_at
from tests.support import rendering
from tests.support.rendering import PROJECT, Rendered, settings_of

_FILES = [*sorted((PROJECT / "examples").glob("*.yaml")), *sorted(PROJECT.glob("Pulumi.*.yaml"))]
_NAMED = ("nodeGroups", "volumes", "queues", "workloads")
Tree = dict[str, Any]


def stacks(count: int, seed: int) -> Iterator[tuple[str, Rendered]]:
    """So many stacks that the settings' checks accept, with how each was made."""
    chance = random.Random(seed)
    made = 0
    while made < count:
        file = chance.choice(_FILES)
        base = settings_of(file)
        tree = copy.deepcopy(dict(base.tree))
        changes = [_changed(tree, chance) for _ in range(chance.randint(1, 4))]
        try:
            resolved = stack.load(replace(base, tree=tree))
        except UserError:
            continue
        made += 1
        yield f"{file.stem}: {'; '.join(changes)}", rendering.run(partial(stack.build, resolved))


def _changed(tree: Tree, chance: random.Random) -> str:
    """One change of the settings, in words."""
    return chance.choice((_scaled, _scaled, _repeated, _spot))(tree, chance)


def _scaled(tree: Tree, chance: random.Random) -> str:
    numbers = scalars(tree, int, float)
    if not numbers:
        return _repeated(tree, chance)
    at = chance.choice(numbers)
    put(tree, at, max(1, int(value_at(tree, at) * chance.choice((0.5, 2, 3, 10)))))
    return f"{dotted(at)} = {value_at(tree, at)}"


def _repeated(tree: Tree, chance: random.Random) -> str:
    section = chance.choice([each for each in _NAMED if tree.get(each)] or ["volumes"])
    entries = tree.setdefault(section, {})
    name = chance.choice(list(entries) or ["data"])
    other = f"{name}-{chance.randint(2, 9)}"
    entries[other] = copy.deepcopy(entries.get(name, {"sizeGib": 1}))
    return f"{section}.{other} as {name}"


def _spot(tree: Tree, chance: random.Random) -> str:
    groups = tree.get("nodeGroups") or {}
    if not groups:
        return _scaled(tree, chance)
    name = chance.choice(list(groups))
    groups[name] = {**groups[name], "spot": not groups[name].get("spot", False)}
    return f"nodeGroups.{name}.spot = {groups[name]['spot']}"
