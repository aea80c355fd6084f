"""Changes of how single values and keys are written: numbers, units, lists, odd letters, casing, encryption."""

from __future__ import annotations

import random
from typing import Any

from tests.mutants.places import NAMED, At, drop, each_value, maps, put, rename, scalars, value_at
from tests.mutants.structure import Change, World
from tests.mutants.text import Typed
from tests.mutants.values import VALUES


def number(world: World) -> tuple[At, str] | None:
    """Spell a number in another way."""
    found = scalars(world.tree, int, float)
    if not found:
        return None
    at = world.chance.choice(found)
    was = value_at(world.tree, at)
    made: Any = world.chance.choice(
        [Typed(world.chance.choice(VALUES["numbers"])), str(was), f"{was} ", f"{was}Gi", float(was) + 0.5]
    )
    put(world.tree, at, made)
    return at, f"{made!r} for {was}"


def end_of_range(world: World) -> tuple[At, str] | None:
    """A number at or beyond the ends of what anything takes, or near what it was."""
    found = scalars(world.tree, int, float)
    if not found:
        return None
    at = world.chance.choice(found)
    was = value_at(world.tree, at)
    made = world.chance.choice([*VALUES["ends"], was + 1, was - 1, was * 10, was * 1000, was / 2, was * 2])
    put(world.tree, at, int(made) if float(made).is_integer() else made)
    return at, f"{made} for {was}"


def shape(world: World) -> tuple[At, str] | None:
    """A list for a single value and back, a map for a list of things, nothing for something."""
    at, value = world.chance.choice(list(each_value(world.tree)))
    options: list[Any] = [[value], {"value": value}, None, [], {}, "", [value, value]]
    if isinstance(value, list):
        options = [value[0] if value else "", ",".join(map(str, value)), {str(k): v for k, v in enumerate(value)}, []]
        options += [[*value, *value], [*value, None], [value], value[::-1]]
    elif isinstance(value, dict):
        options = [[{"name": key, **(v if isinstance(v, dict) else {})} for key, v in value.items()], list(value), []]
        options += [[value], {}, None, str(next(iter(value), ""))]
    made = world.chance.choice(options)
    put(world.tree, at, made)
    return at, f"{made!r:.120} for {value!r:.60}"


def odd_letters(world: World) -> tuple[At, str] | None:
    """A text with something in it that nobody sees or expects."""
    found = scalars(world.tree, str)
    at = world.chance.choice(found)
    was = str(value_at(world.tree, at))
    cut = world.chance.choice([0, len(was), world.chance.randint(0, len(was))])
    odd = world.chance.choice(VALUES["letters"])
    made = world.chance.choice([f"{was[:cut]}{odd}{was[cut:]}"] * 4 + [was * 200, was + "x" * 300, odd, "x" * 70_000])
    put(world.tree, at, made)
    return at, f"{made!r:.120}"


def casing(world: World) -> tuple[At, str] | None:
    """The same letters in another case, as a plural or singular, with underscores or dashes."""
    keys = [at for at, _ in each_value(world.tree) if isinstance(at[-1], str) and not isinstance(at[-1], Typed)]
    texts = scalars(world.tree, str)
    at = world.chance.choice(keys if world.chance.random() < 0.4 else texts)
    if at in texts and world.chance.random() < 0.7:
        was = str(value_at(world.tree, at))
        made = _recased(was, world.chance)
        put(world.tree, at, made)
    else:
        was = str(at[-1])
        made = _recased(was, world.chance)
        if made != was and made not in value_at(world.tree, at[:-1]):
            rename(world.tree, at, made)
    return (at, f"{made!r:.90} for {was!r:.90}") if made != was else None


def _recased(was: str, chance: random.Random) -> str:
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in was)
    plural = was.removesuffix("s") if was.endswith("s") else f"{was}s"
    return chance.choice(
        [was.upper(), was.lower(), was.capitalize(), was.swapcase(), words, plural, was.replace("-", "_")]
    )


def odd_name(world: World) -> tuple[At, str] | None:
    """A name that is reserved somewhere, too long, or no name, wherever the settings take one of yours."""
    found = [at for at, _ in each_value(world.tree) if isinstance(at[-1], str) and _is_own(at)]
    found += [
        at
        for at, value in each_value(world.tree)
        if isinstance(value, str) and at[-1] in ("name", "namespace", "group")
    ]
    if not found:
        return None
    at = world.chance.choice(found)
    made = world.chance.choice(VALUES["names"])
    if isinstance(value_at(world.tree, at), str) and at[-1] in ("name", "namespace", "group"):
        put(world.tree, at, made)
    elif made in value_at(world.tree, at[:-1]):
        return None
    else:
        was = str(at[-1])
        rename(world.tree, at, made)
        if world.chance.random() < 0.7:
            _refer(world, at, was, made)
    return at, f"is called {made!r}"


def _refer(world: World, at: At, was: str, made: str) -> None:
    """Take those that refer to a thing along."""
    for place, value in list(each_value(world.tree)):
        if value == was and place[-1] in ("volume", "queue", "nodeGroup", "cohort", "parent", "mirrorOf"):
            put(world.tree, place, made)
        elif (
            place[-1] == was and place[0] == "workloads" and place[2:3] == (at[0],) and at[0] in ("volumes", "streams")
        ):
            rename(world.tree, place, made)
    for place, value in list(each_value(world.tree)):
        if place[-1] in ("teams", "readers", "writers") and isinstance(value, list):
            put(world.tree, place, [made if each == was else each for each in value])


def _is_own(at: At) -> bool:
    """Whether a key is a name that somebody made up."""
    inner = (
        "volumes",
        "streams",
        "topics",
        "groups",
        "producers",
        "admins",
        "tags",
        "labels",
        "gpus",
        "mayBorrow",
        "lends",
    )
    return (len(at) == 2 and at[0] in NAMED) or (len(at) > 2 and at[-2] in inner)


def secret(world: World) -> tuple[At, str] | None:
    """Encrypt a value, as `pulumi config set --secret --path` does, wherever it is."""
    at = world.chance.choice([at for at, _ in each_value(world.tree)])
    put(world.tree, at, {"secure": "v1:AAAAAAAAAAAAAAAA:BBBBBBBBBBBB"})
    return at, "is encrypted"


def odd_yaml(world: World) -> tuple[At, str] | None:
    """What YAML lets people write."""
    at, value = world.chance.choice(list(each_value(world.tree)))
    options: list[Any] = [
        Typed(each) for each in ("yes", "no", "on", "off", "NULL", "True", "!!str x", "&a x", "22:00", "y")
    ]
    if isinstance(value, dict):
        options = [
            {**value, "secure": "x"},
            {**value, "": 1},
            {Typed("1"): value},
            {Typed("true"): 1, **value},
            {"<<": value},
        ]
    made = world.chance.choice(options)
    put(world.tree, at, made)
    return at, f"{made!r:.90} for {value!r:.60}"


def at_top(world: World) -> tuple[At, str] | None:
    """A section with a prefix of another program, or with a part of its settings at the top."""
    sections = list(world.tree)
    at = (world.chance.choice(sections),)
    inner = [key for key in maps(world.tree) if key[0] == at[0]]
    if inner and world.chance.random() < 0.5:
        deep = world.chance.choice(inner)
        world.tree[str(deep[-1])] = value_at(world.tree, deep)
        return deep, "once more, at the top"
    body = drop(world.tree, at)
    name = world.chance.choice([f"{at[0]}:more", f"config:{at[0]}", f"{at[0]}.a", str(at[0]).rstrip("s"), f" {at[0]}"])
    world.tree[name] = body
    return at, f"under {name!r}"


CHANGES: dict[str, Change] = {
    change.__name__: change
    for change in (number, end_of_range, shape, odd_letters, casing, odd_name, secret, odd_yaml, at_top)
}
