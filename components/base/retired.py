"""Settings that were renamed: the former name is accepted with a warning for one minor version, then refused."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorplane.components.base.location import value_at
from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.version import __version__


@dataclass(frozen=True)
class Retired:
    """A setting's former name. What moved to another map is `Model.moved`, which is refused at once."""

    path: str
    """Where the setting was, with `*` for a name of the user's: `queues.*.limit`."""
    name: str
    """What it is called now, in the same map."""
    since: str
    """The minor version that renamed it, such as `0.3`. The next one refuses the former name."""

    @property
    def refused_by(self) -> str:
        """The minor version that refuses the former name."""
        major, minor = _numbers(self.since)
        return f"{major}.{minor + 1}"


RETIRED: tuple[Retired, ...] = ()
"""Every renamed setting. An entry stays for as long as somebody may update from a version before it."""


@dataclass(frozen=True)
class Renamed:
    """Settings under their present names."""

    tree: dict[str, Any]
    former: Mapping[Key, Key] = field(default_factory=dict)
    """The path of each renamed setting as the file has it, by its present path."""
    notes: tuple[Note, ...] = ()
    """A warning for each accepted former name."""
    problems: tuple[Problem, ...] = ()
    """A problem for each that is refused."""

    def present(self, path: Key) -> Key:
        """A path of the file under present names."""
        return _exchanged(path, {there: here for here, there in self.former.items()})


def as_written(path: Key, former: Mapping[Key, Key]) -> Key:
    """A path under present names as the file has it."""
    return _exchanged(path, former)


def rename(tree: dict[str, Any], retired: Sequence[Retired] | None = None, version: str = __version__) -> Renamed:
    """The settings with every former name replaced, the refused ones too, so that the rest can be checked."""
    former: dict[Key, Key] = {}
    notes: list[Note] = []
    problems: list[Problem] = []
    for each in RETIRED if retired is None else retired:
        for path in list(_paths(tree, tuple(each.path.split(".")))):
            to = (*path[:-1], each.name)
            text = f"is called {each.name} since {each.since}, and {each.refused_by} refuses this name; rename it"
            if each.name in value_at(tree, path[:-1]):
                problems.append(Problem(path, f"is the former name of {each.name}, which is set, too; remove it"))
                tree = _without(tree, path)
                continue
            if _numbers(version)[:2] < _numbers(each.refused_by):
                notes.append(Note(path, text))
            else:
                problems.append(Problem(path, f"is called {each.name} since {each.since}; rename it"))
            tree = _without(tree, path, each.name)
            former[to] = path
    return Renamed(tree, former, tuple(notes), tuple(problems))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _exchanged(path: Key, names: Mapping[Key, Key]) -> Key:
    for length in range(1, len(path) + 1):
        if other := names.get(path[:length]):
            path = (*other, *path[length:])
    return path


def _paths(value: Any, pattern: Key, at: Key = ()) -> Iterator[Key]:
    if not pattern:
        yield at
    elif isinstance(value, Mapping):
        for key in value if pattern[0] == "*" else {pattern[0]} & value.keys():
            yield from _paths(value[key], pattern[1:], (*at, key))


def _without(tree: dict[str, Any], path: Key, name: str | None = None) -> dict[str, Any]:
    """A copy without the key at a path, or with another name for it. The order of keys stays."""
    first, *rest = path
    if rest:
        return {**tree, first: _without(tree[first], tuple(rest), name)}
    return {(name or key if key == first else key): tree[key] for key in tree if name or key != first}
