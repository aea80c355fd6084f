"""Changes of how a stack's settings hang together: names and references, levels, bodies, parts of other stacks."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

from tests.mutants.places import NAMED, REFERENCES, At, Tree, dotted, drop, each_value, maps, put, rename, value_at
from tests.mutants.sketches import Corpus, Sketcher, free
from tests.mutants.text import Typed


class World:
    """What a change is made from: the settings to spoil, those of the other stacks, and chance."""

    def __init__(self, tree: Tree, others: list[Tree], corpus: Corpus, chance: random.Random) -> None:
        self.tree, self.others, self.corpus, self.chance = tree, others, corpus, chance

    def names(self, section: str) -> list[str]:
        found = self.tree.get(section)
        return list(found) if isinstance(found, dict) else []


Change = Callable[[World], "tuple[At, str] | None"]
"""Spoils the settings of a world, and says where and how; None where it finds nothing to spoil."""


def rename_one_end(world: World) -> tuple[At, str] | None:
    """Declare something under another name, and leave those that refer to it as they are."""
    ends: list[At] = [(section, name) for section in NAMED for name in world.names(section)]
    if not ends:
        return None
    at = world.chance.choice(ends)
    name = str(at[1])
    new = world.chance.choice([f"{name}-2", name.rstrip("s") if name.endswith("s") else f"{name}s", f"new-{name}"])
    rename(world.tree, at, new)
    return at, f"is called {new}"


def refer_to_another(world: World) -> tuple[At, str] | None:
    """Let a reference name something else that is declared, of its own kind or of another."""
    found = [at for at, value in each_value(world.tree) if at[-1] in REFERENCES and isinstance(value, str)]
    found += [at for at, _ in each_value(world.tree) if len(at) == 4 and at[0] == "workloads" and at[2] == "volumes"]
    if not found:
        return None
    at = world.chance.choice(found)
    section = REFERENCES.get(str(at[-1]), "volumes") if world.chance.random() < 0.8 else world.chance.choice(NAMED)
    names = [name for name in world.names(section) if name != at[-1]]
    if not names:
        return None
    name = world.chance.choice(names)
    if at[2:3] == ("volumes",) and len(at) == 4:
        rename(world.tree, at, name)
    else:
        put(world.tree, at, name)
    return at, f"refers to {section}.{name}"


def move_up(world: World) -> tuple[At, str] | None:
    found = [at for at, _ in each_value(world.tree) if len(at) > 1 and isinstance(at[-1], str)]
    at = world.chance.choice(found)
    around = value_at(world.tree, at[:-2])
    if not isinstance(around, dict):
        return None
    value = drop(world.tree, at)
    around[at[-1]] = value
    return at, "one level up"


def move_down(world: World) -> tuple[At, str] | None:
    inside = [at for at in maps(world.tree) if isinstance(at[-1], str)]
    found = [(at, near) for at in inside for near in value_at(world.tree, at[:-1]) if near != at[-1]]
    if not found:
        return None
    at, near = world.chance.choice(found)
    body = value_at(world.tree, at)
    body[near] = drop(world.tree, (*at[:-1], near))
    return (*at[:-1], near), f"one level down, into {at[-1]}"


def swap_bodies(world: World) -> tuple[At, str] | None:
    """Exchange what two siblings are."""
    found = [at for at in maps(world.tree) if isinstance(at[-1], str)]
    found = [at for at in found if sum(isinstance(v, dict) for v in value_at(world.tree, at[:-1]).values()) > 1]
    if not found:
        return None
    at = world.chance.choice(found)
    around = value_at(world.tree, at[:-1])
    other = world.chance.choice([key for key, value in around.items() if isinstance(value, dict) and key != at[-1]])
    around[at[-1]], around[other] = around[other], around[at[-1]]
    return at, f"and {other} exchange their bodies"


def drop_some(world: World) -> tuple[At, str] | None:
    """Take one to three keys out of one map."""
    at = world.chance.choice([(), *maps(world.tree)])
    around = value_at(world.tree, at)
    gone = world.chance.sample(list(around), min(len(around), world.chance.randint(1, 3)))
    for key in gone:
        del around[key]
    return at, f"without {', '.join(map(str, gone))}"


def graft(world: World) -> tuple[At, str] | None:
    """Put a part of another stack where this one has, or could have, such a part."""
    donor = world.chance.choice(world.others)
    parts = [(at, value) for at, value in each_value(donor) if isinstance(at[-1], str) and _is_part(at)]
    at, value = world.chance.choice(parts)
    hosts = _hosts(world.tree, at)
    if not hosts:
        return None
    host = world.chance.choice(hosts)
    around = value_at(world.tree, host)
    key = at[-1]
    if len(at) == 2 and at[0] in NAMED and around and world.chance.random() < 0.6:
        # In the place of one that others refer to.
        key = world.chance.choice(list(around))
    around[key] = copy.deepcopy(value)
    return (*host, key), f"as {dotted(at)} of another stack: {value!r:.90}"


def _is_part(at: At) -> bool:
    return len(at) == 1 or (at[0] in NAMED and len(at) in (2, 3, 4)) or (at[0] == "cluster" and len(at) < 4)


def _hosts(tree: Tree, at: At) -> list[At]:
    """The maps that a value from such a place would fit into."""
    if len(at) == 1:
        return [()]
    if at[0] not in tree or not isinstance(tree[at[0]], dict):
        return []
    hosts: list[At] = [(at[0],)]
    for depth, key in enumerate(at[1:-1], start=1):
        more: list[At] = []
        for host in hosts:
            inside = value_at(tree, host)
            keys = list(inside) if depth == 1 and at[0] in NAMED else [key] if key in inside else []
            more += [(*host, each) for each in keys if isinstance(inside[each], dict)]
        hosts = more
    return hosts


def give_more(world: World) -> tuple[At, str] | None:
    """Give a setting that could be there, with a plausible value."""
    at, field = world.chance.choice(free(world.tree))
    value = Sketcher(world.tree, world.corpus, world.chance).value(str(at[-1]), field)
    put(world.tree, at, value)
    return at, f"{value!r:.200}"


def change_kind(world: World) -> tuple[At, str] | None:
    """Say another kind, or another choice, with the settings of the one before."""
    found = [
        at for at, value in each_value(world.tree) if isinstance(value, str) and world.corpus.values.get(str(at[-1]))
    ]
    at = world.chance.choice(found)
    value = world.chance.choice(world.corpus.values[str(at[-1])])
    if value == value_at(world.tree, at):
        return None
    put(world.tree, at, copy.deepcopy(value))
    return at, f"{value!r:.90}, which is another's"


def same_again(world: World) -> tuple[At, str] | None:
    """Let one thing be an alias of another, as it is or with another's keys merged in."""
    found = [at for at in maps(world.tree) if value_at(world.tree, at)]
    if not found:
        return None
    at, source = world.chance.choice(found), world.chance.choice(found)
    if world.chance.random() < 0.6:
        near = [each for each in found if len(each) == len(at) and each[0] == at[0] and each != at]
        source = world.chance.choice(near) if near else source
    if at[: len(source)] == source or source[: len(at)] == at:
        return None
    body, other = value_at(world.tree, at), value_at(world.tree, source)
    if world.chance.random() < 0.5:
        put(world.tree, at, other)
        return at, f"*{dotted(source)}"
    kept = {key: value for key, value in body.items() if key not in other or world.chance.random() < 0.5}
    put(world.tree, at, {Typed("<<"): other, **kept})
    return at, f"<<: *{dotted(source)}, beside {', '.join(map(str, kept))}"


def declare_twice(world: World) -> tuple[At, str] | None:
    """Declare a copy of something under another name: paths, places and quotas are then there twice."""
    ends = [(section, name) for section in NAMED for name in world.names(section)]
    if not ends:
        return None
    section, name = world.chance.choice(ends)
    new = world.chance.choice(
        [f"{name}-copy", f"{name}-2", "a", f"{name}-snapshotter", f"{name}-runtime", f"{name}-mirror"]
    )
    body = copy.deepcopy(world.tree[section][name])
    world.tree[section][new] = body
    return (section, name), f"and a copy of it, {new}"


CHANGES: dict[str, Change] = {
    change.__name__: change
    for change in (
        rename_one_end, refer_to_another, move_up, move_down, swap_bodies, drop_some, graft, give_more, change_kind,
        same_again, declare_twice,
    )
}  # fmt: skip
