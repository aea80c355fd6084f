"""Files that nobody may accept, made by a seed: one mistake each, of a kind that people make."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants import sketches, text
from tests.mutants.places import REFERENCES, At, Tree, each_value, put, rename, value_at
from tests.mutants.text import Typed
from tests.support.rendering import settings_of

_FREE = (
    "accessModes", "addons", "admins", "args", "columns", "command", "env", "extended", "files", "gatewayAnnotations",
    "gpus", "labels", "lends", "mayBorrow", "packages", "parameters", "script", "space", "subnets", "tags", "topics",
)  # fmt: skip
"""Settings below which keys and values are the user's own."""
_NUMBERS = (
    "cpus", "diskGib", "everySteps", "expected", "keep", "max", "maxRestarts", "memoryGib", "min", "perNode", "sizeGib",
    "steps", "trials", "workers",
)  # fmt: skip
_NAMES_OF_CATALOG = ("accelerator", "machine")


@dataclass(frozen=True)
class Spoiled:
    """A file with one mistake."""

    kind: str
    base: Path
    key: str
    """A key that the command's lines must name."""
    text: str

    def __str__(self) -> str:
        return f"{self.base.name}: {self.kind} at {self.key}"


class _Draft:
    """The settings to spoil."""

    def __init__(self, tree: Tree, chance: random.Random) -> None:
        self.tree, self.chance = tree, chance

    def choose(self, fitting: Callable[[At, object], bool]) -> At | None:
        """One of the places of settings, which the stack's model knows by name, that fit."""
        found = [at for at, value in each_value(self.tree) if not _is_free(at) and fitting(at, value)]
        return self.chance.choice(found) if found else None

    def put(self, at: At | None, value: object) -> str | None:
        if at is None:
            return None
        put(self.tree, at, value)
        return str(at[-1])


def _is_free(at: At) -> bool:
    return any(key in _FREE for key in at[:-1]) or isinstance(at[-1], int) or at[-1] in _FREE


def _is_number(at: At, value: object) -> bool:
    return at[-1] in _NUMBERS and type(value) in (int, float)


def typo(draft: _Draft) -> str | None:
    """Two letters of a key, in the wrong order."""
    settings = frozenset(sketches.given(draft.tree))
    # Without `kind`, only its absence can be told.
    at = draft.choose(lambda at, _: at in settings and at[-1] != "kind" and len(str(at[-1])) > 3)
    if at is None:
        return None
    name = str(at[-1])
    cut = next((i for i in range(1, len(name) - 1) if name[i] != name[i + 1]), 0)
    wrong = name[:cut] + name[cut + 1] + name[cut] + name[cut + 2 :]
    rename(draft.tree, at, wrong)
    return wrong


def wrong_type(draft: _Draft) -> str | None:
    """A word, a list or a map for a number."""
    return draft.put(draft.choose(_is_number), draft.chance.choice(["many", [1, 2], {"value": 1}]))


def unit(draft: _Draft) -> str | None:
    """A number with its unit, as Kubernetes writes it."""
    at = draft.choose(_is_number)
    return draft.put(
        at, f"{value_at(draft.tree, at)}{draft.chance.choice(['Gi', 'm', 'GiB', ' cores'])}" if at else None
    )


def negative(draft: _Draft) -> str | None:
    """A number below zero."""
    return draft.put(draft.choose(_is_number), draft.chance.choice([-1, -0.5, -1000]))


def unknown_name(draft: _Draft) -> str | None:
    """A reference to what nobody declared."""
    known = (*REFERENCES, *_NAMES_OF_CATALOG)
    at = draft.choose(lambda at, value: at[-1] in known and at[0] != "cluster" and isinstance(value, str))
    return draft.put(at, f"no-such-{draft.chance.randint(1, 99)}")


def impossible_shape(draft: _Draft) -> str | None:
    """More nodes at least than at most, or a number of accelerators that no machine has."""
    at = draft.choose(lambda at, value: at[0] == "nodeGroups" and at[-1] == "max" and isinstance(value, int))
    if at is None:
        return None
    group = value_at(draft.tree, at[:-1])
    is_rented = draft.tree.get("cluster", {}).get("kind") in ("aks", "eks", "gke")
    if is_rented and "accelerator" in group and draft.chance.random() < 0.5:
        group["perNode"] = 13
        return "perNode"
    group["min"] = group["max"] + draft.chance.randint(1, 9)
    return "min"


def control_characters(draft: _Draft) -> str | None:
    """A name with a character that nobody sees."""
    at = draft.choose(lambda at, value: at[-1] in (*REFERENCES, *_NAMES_OF_CATALOG) and isinstance(value, str))
    odd = draft.chance.choice(["\u0007", "\u200b", "\u202e", "\n", "\u0000", "\x1b[31m"])
    return draft.put(at, f"{value_at(draft.tree, at)}{odd}" if at else None)


def octal(draft: _Draft) -> str | None:
    """A whole number with a zero before it, which YAML reads to the base of eight."""
    at = draft.choose(lambda at, value: _is_number(at, value) and isinstance(value, int))
    return draft.put(at, Typed(f"0{draft.chance.randint(1, 7)}{draft.chance.randint(0, 7)}"))


def boolean_word(draft: _Draft) -> str | None:
    """A word that YAML 1.1 took for a boolean, and Pulumi takes for text."""
    at = draft.choose(lambda at, value: isinstance(value, bool))
    return draft.put(at, Typed(draft.chance.choice(["yes", "no", "on", "off", "y", "n"])))


def boolean_number(draft: _Draft) -> str | None:
    """A boolean for a number."""
    return draft.put(draft.choose(_is_number), draft.chance.choice([True, False]))


KINDS: dict[str, Callable[[_Draft], str | None]] = {
    each.__name__: each
    for each in (
        typo, wrong_type, unit, negative, unknown_name, impossible_shape, control_characters, octal, boolean_word,
        boolean_number,
    )
}  # fmt: skip
DUPLICATE = "duplicate_key"


def spoiled(bases: list[Path], count: int, seed: int | str) -> Iterator[Spoiled]:
    """So many, as many of each kind as there are places for it; the same ones for a seed."""
    trees = {base: settings_of(base).tree for base in bases}
    kinds = [*KINDS, DUPLICATE]
    for number in range(count):
        chance = random.Random(f"{seed}:{number}")
        yield _one(kinds[number % len(kinds)], trees, chance)


def _one(kind: str, trees: dict[Path, Tree], chance: random.Random) -> Spoiled:
    while True:
        base = chance.choice(list(trees))
        tree = copy.deepcopy(trees[base])
        if kind == DUPLICATE:
            key, written = _with_a_key_twice(text.of(tree), chance)
            return Spoiled(kind, base, key, written)
        if found := KINDS[kind](_Draft(tree, chance)):
            return Spoiled(kind, base, found, text.of(tree))


_LINE = re.compile(r"^( +)([\w:.-]+): *(\S.*)$")


def _with_a_key_twice(whole: str, chance: random.Random) -> tuple[str, str]:
    lines = whole.splitlines()
    number = chance.choice([index for index, line in enumerate(lines) if _LINE.match(line) and line[-1] not in "|>-"])
    found = _LINE.match(lines[number])
    assert found
    return found.group(2).rpartition(":")[2], "\n".join(
        [*lines[: number + 1], lines[number], *lines[number + 1 :]]
    ) + "\n"
