"""Changes of valid stacks, made by a seed, that leave them valid: other amounts, names, orders and spellings."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants import text
from tests.mutants.places import Tree, each_value, put, value_at
from tests.support.rendering import settings_of

_MORE = ("diskGib", "everySteps", "steps")
"""Numbers that may be larger, whatever the others are."""


@dataclass(frozen=True)
class Valid:
    """A file without a mistake."""

    kind: str
    base: Path
    text: str

    def __str__(self) -> str:
        return f"{self.base.name}: {self.kind}"


def another_order(tree: Tree, chance: random.Random) -> None:
    """The sections, and the names in them, in another order."""
    for around in (
        tree,
        *(tree[section] for section in ("nodeGroups", "queues", "volumes", "teams") if section in tree),
    ):
        pairs = list(around.items())
        chance.shuffle(pairs)
        around.clear()
        around.update(pairs)


def number_as_text(tree: Tree, chance: random.Random) -> None:
    """A number as `pulumi config set` stores it."""
    found = [at for at, value in each_value(tree) if type(value) is int and at[-1] in (*_MORE, "min", "max", "perNode")]
    if found:
        at = chance.choice(found)
        put(tree, at, str(value_at(tree, at)))


def more(tree: Tree, chance: random.Random) -> None:
    """A larger amount."""
    found = [at for at, value in each_value(tree) if type(value) is int and at[-1] in _MORE and "env" not in at]
    if found:
        at = chance.choice(found)
        put(tree, at, value_at(tree, at) + chance.randint(1, 50))


def expected_nodes(tree: Tree, chance: random.Random) -> None:
    """How many nodes run on average."""
    for group in tree.get("nodeGroups", {}).values():
        group["expected"] = round(chance.uniform(float(group.get("min", 0)), float(group["max"])), 2)


def another_volume(tree: Tree, chance: random.Random) -> None:
    """A volume like one that is there."""
    plain = [one for one in tree.get("volumes", {}).values() if set(one) <= {"backend", "sizeGib", "accessModes"}]
    if plain:
        tree["volumes"][f"more-{chance.randint(1, 999)}"] = copy.deepcopy(chance.choice(plain))


def another_variable(tree: Tree, chance: random.Random) -> None:
    """A variable of a training job."""
    jobs = [one for one in tree.get("workloads", {}).values() if one.get("kind") == "trainingJob"]
    if jobs:
        value = chance.choice(["no", "0x1f", "007", "1e3", "a: b", "", "ä✓", "two\nlines"])
        chance.choice(jobs).setdefault("env", {})[f"MORE_{chance.randint(1, 999)}"] = value


KINDS: dict[str, Callable[[Tree, random.Random], None]] = {
    each.__name__: each
    for each in (another_order, number_as_text, more, expected_nodes, another_volume, another_variable)
}


def changes(bases: list[Path], count: int, seed: int | str) -> Iterator[Valid]:
    """So many, of two changes each; the same ones for a seed."""
    trees = {base: settings_of(base).tree for base in bases}
    for number in range(count):
        chance = random.Random(f"{seed}:{number}")
        base = bases[number % len(bases)]
        tree = copy.deepcopy(trees[base])
        kinds = chance.sample(list(KINDS), 2)
        for kind in kinds:
            KINDS[kind](tree, chance)
        yield Valid(" and ".join(kinds), base, text.of(tree))
