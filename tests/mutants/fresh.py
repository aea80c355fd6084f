"""Mutants of every stack and example, made by a seed: the changes of this package, one to three in a file."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants import process, spelling, structure, text
from tests.mutants.places import At, Tree, dotted, general
from tests.mutants.sketches import Corpus
from tests.mutants.structure import World
from tests.support.rendering import PROJECT, settings_of

BASES = [*sorted(PROJECT.glob("Pulumi.*.yaml")), *sorted((PROJECT / "examples").glob("*.yaml"))]
CHANGES = {**structure.CHANGES, **spelling.CHANGES, **process.CHANGES}
_HEAVY = {"give_more": 3, "graft": 3, "refer_to_another": 2, "end_of_range": 2, "hardware": 2}


@dataclass(frozen=True)
class Mutant:
    """A stack's file with something changed in it."""

    base: Path
    changes: list[tuple[str, str]]
    """What was changed: the name of the change, and the setting, whatever the names of things are in the file."""
    told: str
    """What was changed, for people."""
    text: str
    """The file."""

    def __str__(self) -> str:
        return f"{self.base.name}: {self.told}"


def mutants(count: int, seed: int | str) -> Iterator[Mutant]:
    """So many mutants, as many of each file; the same ones for a seed."""
    trees = {base: settings_of(base).tree for base in BASES}
    corpus = Corpus(trees.values())
    for number in range(count):
        base = BASES[number % len(BASES)]
        others = [tree for path, tree in trees.items() if path != base]
        yield _one(base, trees[base], others, corpus, random.Random(f"{seed}:{number}"))


def _changed(name: str, world: World) -> tuple[At, str] | None:
    try:
        return CHANGES[name](world)
    except (AttributeError, LookupError, TypeError):
        # A change before it left nothing of the kind to choose from, or something else in its place.
        return None


def base_of(base: Path) -> Mutant:
    """The file itself, as mutants are written."""
    return Mutant(base, [], "", text.of(settings_of(base).tree))


def _one(base: Path, tree: Tree, others: list[Tree], corpus: Corpus, chance: random.Random) -> Mutant:
    whole = text.of(tree)
    names = list(CHANGES)
    weights = [_HEAVY.get(name, 1) for name in names]
    while True:
        world = World(copy.deepcopy(tree), others, corpus, chance)
        wanted = chance.choice([1, 1, 1, 2, 3])
        made: list[tuple[str, str, str]] = []
        for name in chance.choices(names, weights, k=wanted):
            if found := _changed(name, world):
                at, told = found
                made.append((name, general(at) if at else "", f"{name} {dotted(at)}: {told}"))
            if name == "same_again":
                # One value is in two places now: a change of it could put it into itself.
                break
        written = text.of(world.tree)
        if made and written != whole:
            return Mutant(base, [(name, key) for name, key, _ in made], "; ".join(told for _, _, told in made), written)
