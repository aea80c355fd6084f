"""The input of a spec as inputs of stages: which datasets, in which parts, joined how."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tensorplane.cli.pachyderm import datum, unsupported, variables
from tensorplane.cli.pachyderm.globs import Glob
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.spec import CronInput, Input, PfsInput

PFS = "/pfs"
"""Where programs find their inputs and `out`."""
_KINDS = ("cross", "join", "group", "union")


@dataclass(frozen=True)
class Inside:
    """The outermost join or group that an input is in."""

    at: str = ""
    """Its path in the spec; empty if there is none."""
    kind: str = ""
    nested: str = ""
    """What else is in it around the input, if its parts come together in a way that has no equal."""


OUTSIDE = Inside()


@dataclass(frozen=True)
class Leaf:
    """A repo or a clock that a program reads."""

    at: str
    """Its path in the spec."""
    source: PfsInput | CronInput
    inside: Inside = OUTSIDE

    @property
    def name(self) -> str:
        """Its folder in /pfs."""
        source = self.source
        return source.name if isinstance(source, CronInput) else source.name or source.repo

    @property
    def glob(self) -> Glob:
        """Its pattern. Each tick is a datum, unless it replaces the one before."""
        source = self.source
        if isinstance(source, CronInput):
            return Glob("/" if source.overwrite else "/*")
        return Glob(source.glob or "/")

    @property
    def key(self) -> str | None:
        """The pattern of what its parts are joined or grouped by; None if they have no equal."""
        if isinstance(self.source, CronInput) or self.inside.nested:
            return None
        if self.inside.kind == "join":
            return self.glob.key(self.source.join_on)
        return self.glob.key_of_group(self.source.group_by)


@dataclass
class Planned:
    """The inputs of a stage, in the spelling of settings."""

    inputs: dict[str, Any] = field(default_factory=dict)
    join: str | None = None
    before: list[str] = field(default_factory=list)
    """Lines of the shell that the program needs."""
    notes: list[Note] = field(default_factory=list)

    @property
    def is_split(self) -> bool:
        """Whether there may be several parts."""
        return any("split" in one for one in self.inputs.values())


@dataclass(frozen=True)
class _Splits:
    """The splits of the inputs of a stage, by their paths in the spec, and how their parts come together."""

    of: Mapping[str, str]
    join: str | None
    keys: Mapping[str, str]
    """Of those that are joined: patterns of what they are joined by."""


def alternatives(given: Input, at: str = "input", inside: Inside = OUTSIDE) -> list[list[Leaf]]:
    """What datums have: the members of a union are alternatives, all others come together."""
    for name, source in (("pfs", given.pfs), ("cron", given.cron)):
        if source is not None:
            return [[Leaf(f"{at}.{name}", source, inside)]]
    for each in _KINDS:
        members: list[Input] | None = getattr(given, each)
        if members:
            path = f"{at}.{each}"
            own = _inside(inside, each, path, len(members))
            found = [alternatives(one, f"{path}[{index}]", own) for index, one in enumerate(members)]
            if each == "union":
                return [one for ways in found for one in ways]
            return [[leaf for way in chosen for leaf in way] for chosen in itertools.product(*found)]
    return [[]]


def _inside(outer: Inside, kind: str, at: str, members: int) -> Inside:
    """Where the members of an input of this kind are. A join has the same pairs with each member of a union."""
    if not outer.at:
        return Inside(at, kind) if kind in ("join", "group") else outer
    same = (kind == "union" and outer.kind == "join") or (kind in ("cross", "union") and members == 1)
    return outer if same else replace(outer, nested=outer.nested or kind)


def find_problems(given: Input, at: str = "input") -> Iterator[str]:
    """What Pachyderm refuses in an input: several kinds in one place, or none."""
    kinds = [each for each in ("pfs", "cron", *_KINDS) if getattr(given, each)]
    if len(kinds) != 1:
        what = f"has {' and '.join(kinds)} in one place" if kinds else "has no input"
        yield f"{at}: {what}; set one of pfs, cron, {', '.join(_KINDS)}"
    for each in _KINDS:
        for index, member in enumerate(getattr(given, each) or ()):
            yield from find_problems(member, f"{at}.{each}[{index}]")


def plan(
    pipeline: str, leaves: Sequence[Leaf], dataset: Callable[[Leaf], dict[str, str]], names: Sequence[str], text: str
) -> Planned:
    """The inputs of a stage. `dataset`: the dataset and branch of each leaf; `names`: the names of the inputs; `text`:
    the program's.
    """
    made = Planned()
    splits = _splits(pipeline, leaves, made.notes)
    made.join = splits.join
    for leaf, name in zip(leaves, names, strict=True):
        path, split, key = f"{PFS}/{leaf.name}", splits.of[leaf.at], splits.keys.get(leaf.at)
        parts = {"split": split} if split != "whole" else {}
        made.inputs[name] = {**dataset(leaf), **parts, **({"key": key} if key else {}), "path": path}
        made.notes += _of_leaf(pipeline, leaf, split, joined=key is not None)
        made.before += _compared(leaf, path, split, joined=key is not None)
        if variables.reads(text, leaf.name) and datum.is_variable(leaf.name):
            # The datum of a clock is the file of a tick.
            of = "directory" if isinstance(leaf.source, CronInput) else split
            made.before += datum.path(leaf.name, path, of, leaf.glob)
            if leaf.inside.kind == "group" and split != leaf.glob.split:
                problem = "its variable has the folder of the group, in Pachyderm one of the files"
                made.notes.append(Note(pipeline, f"{leaf.at}.name", problem, "let the program read all files in it"))
        elif variables.reads(text, leaf.name):
            problem = "is no name of a shell variable, so the program does not get the path of its datum"
            made.notes.append(Note(pipeline, f"{leaf.at}.name", problem, "use underscores for other characters"))
    return made


def _compared(leaf: Leaf, path: str, split: str, *, joined: bool) -> list[str]:
    """Lines that end the program of a part that does not match. `joined`: whether the parts have keys, which match."""
    if split == leaf.glob.split:
        return [] if joined or split == "whole" or leaf.glob.takes_all else datum.matching(path, leaf.glob) or []
    return datum.in_folder(path) if split == "directory" else []


def _splits(pipeline: str, leaves: Sequence[Leaf], notes: list[Note]) -> _Splits:
    """The split of each leaf, and how their parts are joined."""
    splits = {leaf.at: leaf.glob.split for leaf in leaves}
    keys: dict[str, str] = {}
    for inside, members in _together(leaves).items():
        if inside.kind == "join" and len(members) == 1 and not inside.nested:
            continue
        if all(splits[leaf.at] == "whole" for leaf in members):
            notes += _of_outer_whole(pipeline, members)
            continue
        patterns = {leaf.at: leaf.key for leaf in members}
        if None in patterns.values() or keys:
            splits.update({leaf.at: "whole" for leaf in members})
            notes.append(_without_key(pipeline, inside, members))
            notes += _of_outer_whole(pipeline, members)
            continue
        if inside.kind == "group":
            splits.update({leaf.at: "directory" for leaf in members})
        if len(members) > 1:
            keys.update({at: key for at, key in patterns.items() if key})
            notes += _of_outer(pipeline, members)
    apart = [leaf for leaf in leaves if splits[leaf.at] != "whole"]
    if not keys:
        return _Splits(splits, "cross" if len(apart) > 1 else None, keys)
    for leaf in apart:
        if leaf.at not in keys:
            splits[leaf.at] = "whole"
            problem = "is not crossed with the join, so the program gets all of its files with each part"
            notes.append(Note(pipeline, f"{leaf.at}.glob", problem, "let it work on all of them"))
    return _Splits(splits, "name", keys)


def _together(leaves: Sequence[Leaf]) -> Mapping[Inside, list[Leaf]]:
    """The leaves of each join and group."""
    found: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        if leaf.inside.at:
            found.setdefault(leaf.inside.at, []).append(leaf)
    # One that has something nested in it has it for all.
    return {max((one.inside for one in each), key=lambda inside: inside.nested): each for each in found.values()}


def _without_key(pipeline: str, inside: Inside, members: Sequence[Leaf]) -> Note:
    """The note of a join or group whose keys have no equal, or that comes after another one."""
    is_join = inside.kind == "join"
    problem = "a stage has one join, by one pair of parentheses in each glob"
    if not is_join:
        problem = "its keys are neither folders at the top nor all that differs in the names of files"
    remedy = "commit the files of each key into a folder of its name, and set split: directory"
    remedy += " and join: name" if len(members) > 1 else ""
    if inside.nested:
        problem = f"has a {inside.nested} in it, which stages do not support"
        remedy = "make what is nested a pipeline, whose output this one reads"
    field_of = inside.at if inside.nested else f"{inside.at}.{'joinOn' if is_join else 'groupBy'}"
    return Note(pipeline, field_of, f"{problem}, so the program gets all files at once", remedy)


def _of_outer_whole(pipeline: str, members: Sequence[Leaf]) -> Iterator[Note]:
    for leaf in members:
        if _is_outer(leaf):
            problem = "left out: a run begins once each dataset has a version"
            yield Note(pipeline, f"{leaf.at}.outerJoin", problem, "commit an empty folder where nothing is yet")


def _is_outer(leaf: Leaf) -> bool:
    return isinstance(leaf.source, PfsInput) and bool(leaf.source.outer_join)


def _of_outer(pipeline: str, members: Sequence[Leaf]) -> Iterator[Note]:
    for leaf in members:
        outer = _is_outer(leaf)
        if outer or leaf.inside.kind == "group":
            field_of = f"{leaf.at}.{'outerJoin' if outer else 'groupBy'}"
            problem = "parts without a partner in each input are left out"
            yield Note(pipeline, field_of, problem, "commit an empty file for what is missing")


def _of_leaf(pipeline: str, leaf: Leaf, split: str, *, joined: bool) -> Iterator[Note]:
    """`joined`: whether parts that do not match are left out, because they have no key."""
    yield from unsupported.of_input(pipeline, leaf.at, leaf.source)
    at, glob = f"{leaf.at}.glob", leaf.glob
    if isinstance(leaf.source, CronInput):
        when = leaf.source.spec
        problem = f"nothing commits a file at each tick ({when}) by itself"
        remedy = "from a crontab, `tensorplane data put` a file with the time to this dataset"
        yield Note(pipeline, f"{leaf.at}.spec", problem, remedy)
    elif leaf.source.repo_type not in (None, "", "user"):
        yield Note(pipeline, f"{leaf.at}.repoType", "left out: datasets have no such parts", "read another dataset")
    elif not leaf.source.glob:
        problem = "is missing, so the program gets all files at once (Pachyderm refuses it)"
        yield Note(pipeline, at, problem, "if files are parts, set split")
    elif not joined:
        yield from _of_glob(pipeline, at, glob, split)
    if split == "file":
        problem = "only files are parts, in Pachyderm also folders that match"
        yield Note(pipeline, at, problem, "commit such folders at the top of a dataset, and set split: directory")


def _of_glob(pipeline: str, at: str, glob: Glob, split: str) -> Iterator[Note]:
    """The note of a pattern that does not match all parts."""
    if glob.takes_all or split not in ("whole", glob.split):
        return
    if split == "whole":
        problem = f"the program gets all files of the dataset, not {glob.pattern} alone"
        yield Note(pipeline, at, problem, "if it must not see others, commit them to another dataset")
        return
    remedy = "commit those that do not match to another dataset"
    if glob.for_shell("") is None:
        yield Note(pipeline, at, f"{glob.pattern} is no pattern of the shell, so all files are parts", remedy)
    elif glob.path != "/*/*":
        problem = f"parts that do not match {glob.pattern} have pods, too, which end at once"
        more = " (a letter outside of ASCII may count as several characters)" if glob.counts_characters else ""
        yield Note(pipeline, at, problem + more, remedy)
