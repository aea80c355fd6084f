"""Single faults for the settings of a stack, made by a seed: what a hurried person does to a file."""

import copy
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Key = tuple[str, ...]


@dataclass(frozen=True)
class Mutation:
    """One change, and the settings with it."""

    change: str
    path: Key
    tree: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.change} {'.'.join(self.path)}"


def of(tree: Mapping[str, Any], count: int, seed: int) -> Iterator[Mutation]:
    """So many single changes of the settings, at places and of kinds chosen by chance."""
    chance = random.Random(seed)
    places = list(_values(tree))
    for _ in range(count):
        path, value = chance.choice(places)
        change = chance.choice([name for name, fits in _CHANGES.items() if fits(path, value)])
        spoilt = copy.deepcopy(dict(tree))
        _apply(change, spoilt, path, places, chance)
        if spoilt != tree:
            yield Mutation(change, path, spoilt)


def _values(node: Any, path: Key = ()) -> Iterator[tuple[Key, Any]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield (*path, key), value
            yield from _values(value, (*path, key))


_CHANGES: dict[str, Callable[[Key, Any], bool]] = {
    "empty": lambda path, value: value is not None,
    "type": lambda path, value: True,
    "key": lambda path, value: True,
    "text": lambda path, value: isinstance(value, str) and len(value) > 1,
    "drop": lambda path, value: True,
    "swap": lambda path, value: True,
}


def _apply(change: str, tree: dict[str, Any], path: Key, places: list[tuple[Key, Any]], chance: random.Random) -> None:
    *parents, last = path
    node: Any = tree
    for key in parents:
        node = node[key]
    if change == "empty":
        node[last] = None
    elif change == "type":
        node[last] = chance.choice([[1], {"x": 1}, "text", -1, 3.5, True])
    elif change == "key":
        node[_misspelt(last, chance)] = node.pop(last)
    elif change == "text":
        node[last] = _misspelt(node[last], chance)
    elif change == "drop":
        del node[last]
    else:
        node[last] = copy.deepcopy(chance.choice(places)[1])


def _misspelt(text: str, chance: random.Random) -> str:
    """A letter left out, doubled, swapped with its neighbour, another one, or capital letters."""
    at = chance.randrange(len(text))
    before, letter, after = text[:at], text[at], text[at + 1 :]
    return chance.choice(
        [
            before + after or text * 2,
            before + letter * 2 + after,
            before + after[:1] + letter + after[1:],
            before + chance.choice("aeiknrst") + after,
            text.upper(),
        ]
    )
