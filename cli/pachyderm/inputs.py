"""The input of a spec as inputs of stages: which datasets, in which parts, joined how."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cli.pachyderm import variables, without_equal
from cli.pachyderm.globs import Glob
from cli.pachyderm.note import Note
from cli.pachyderm.spec import CronInput, Input, PfsInput

PFS = "/pfs"
"""Where programs find their inputs and `out`."""
_KINDS = ("cross", "join", "group", "union")


@dataclass(frozen=True)
class Leaf:
    """A repo or a clock that a program reads."""

    at: str
    """Its path in the spec."""
    source: PfsInput | CronInput
    kind: str = ""
    """`join` or `group`, if it is in one."""
    inside: str = ""
    """The path of that."""

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
        if isinstance(self.source, CronInput):
            return None
        if self.kind == "join":
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


def alternatives(given: Input, at: str = "input", kind: str = "", inside: str = "") -> list[list[Leaf]]:
    """What datums have: the members of a union are alternatives, all others come together."""
    for name, source in (("pfs", given.pfs), ("cron", given.cron)):
        if source is not None:
            return [[Leaf(f"{at}.{name}", source, kind, inside)]]
    for each in _KINDS:
        members: list[Input] | None = getattr(given, each)
        if members:
            path = f"{at}.{each}"
            own = (each, path) if each in ("join", "group") else ("", "")
            found = [alternatives(one, f"{path}[{index}]", *own) for index, one in enumerate(members)]
            if each == "union":
                return [one for ways in found for one in ways]
            return [[leaf for way in chosen for leaf in way] for chosen in itertools.product(*found)]
    return [[]]


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
        if split == leaf.glob.split != "whole" and not key and not leaf.glob.takes_all and leaf.glob.is_known:
            made.before.append(f"[ -e {leaf.glob.matches(path)} ] || exit 0")
        if leaf.name.isidentifier() and variables.reads(text, leaf.name):
            made.before.append(_datum(leaf.name, path, split))
    return made


def _datum(variable: str, path: str, split: str) -> str:
    """Sets the variable with the path of the datum, which Pachyderm has for each input."""
    folder = shlex.quote(path)
    found = {"whole": folder, "directory": f'"$(echo {folder}/*)"', "file": f'"$(find {folder} -type f)"'}
    return f"export {variable}={found[split]}"


def _splits(pipeline: str, leaves: Sequence[Leaf], notes: list[Note]) -> _Splits:
    """The split of each leaf, and how their parts are joined."""
    splits = {leaf.at: leaf.glob.split for leaf in leaves}
    keys: dict[str, str] = {}
    counts = Counter(leaf.inside for leaf in leaves if leaf.inside)
    for inside, count in counts.items():
        members = [leaf for leaf in leaves if leaf.inside == inside]
        if all(splits[leaf.at] == "whole" for leaf in members):
            continue
        patterns = {leaf.at: leaf.key for leaf in members}
        if None not in patterns.values() and not keys:
            if members[0].kind == "group":
                splits.update({leaf.at: "directory" for leaf in members})
            if count > 1:
                keys.update({at: key for at, key in patterns.items() if key})
                notes += _of_outer(pipeline, members)
            continue
        splits.update({leaf.at: "whole" for leaf in members})
        notes.append(_without_key(pipeline, members, several=count > 1))
    apart = [leaf for leaf in leaves if splits[leaf.at] != "whole"]
    if keys:
        for leaf in apart:
            if not leaf.inside:
                splits[leaf.at] = "whole"
                problem = "a join is not crossed with other parts, so the program gets all of its files with each"
                notes.append(Note(pipeline, f"{leaf.at}.glob", problem, "let it work on all of them"))
        return _Splits(splits, "name", keys)
    return _Splits(splits, "cross" if len(apart) > 1 else None, keys)


def _without_key(pipeline: str, members: Sequence[Leaf], *, several: bool) -> Note:
    """The note of a join or group whose keys have no equal, or that comes after another one."""
    is_join = members[0].kind == "join"
    problem = "its keys are not what one pair of parentheses of each glob takes, or it is the second of a stage"
    if not is_join:
        problem = "its keys are not folders at the top, nor what alone differs in the names of files"
    remedy = "commit files of a key into a folder of its name, and set split: directory"
    field_of = f"{members[0].inside}.{'joinOn' if is_join else 'groupBy'}"
    fate = f"{problem}, so the program gets all files at once"
    return Note(pipeline, field_of, fate, remedy + (" and join: name" if several else ""))


def _of_outer(pipeline: str, members: Sequence[Leaf]) -> Iterator[Note]:
    for leaf in members:
        outer = isinstance(leaf.source, PfsInput) and leaf.source.outer_join
        if outer or leaf.kind == "group":
            field_of = f"{leaf.at}.outerJoin" if outer else leaf.inside
            problem = "parts without a partner in each input are left out"
            yield Note(pipeline, field_of, problem, "commit an empty file for what is missing")


def _of_leaf(pipeline: str, leaf: Leaf, split: str, *, joined: bool) -> Iterator[Note]:
    """`joined`: whether parts that do not match are left out, because they have no key."""
    yield from without_equal.of_input(pipeline, leaf.at, leaf.source)
    at, glob = f"{leaf.at}.glob", leaf.glob
    if isinstance(leaf.source, CronInput):
        when = leaf.source.spec
        problem = f"nothing commits a file at each tick ({when}) by itself"
        remedy = "from a crontab, `tensorplane data put` a file with the time to this dataset"
        yield Note(pipeline, f"{leaf.at}.spec", problem, remedy)
    elif leaf.source.repo_type not in (None, "", "user"):
        yield Note(pipeline, f"{leaf.at}.repoType", "left out: datasets have no such parts", "read another dataset")
    elif not leaf.source.glob:
        problem = "is missing, which Pachyderm refuses; here the program gets all files at once"
        yield Note(pipeline, at, problem, "if files are parts, set split")
    elif joined:
        if glob.takes_folders_alone:
            yield Note(pipeline, at, "files that match are parts, too", "commit them to another dataset")
    elif split == "whole" and not glob.takes_all:
        problem = f"the program gets all files of the dataset, not {glob.pattern} alone"
        yield Note(pipeline, at, problem, "if it must not see others, commit them to another dataset")
    elif not glob.is_known and not glob.takes_all:
        problem = f"{glob.pattern} is no pattern of the shell, so all files are parts"
        yield Note(pipeline, at, problem, "commit those that do not match to another dataset")
    elif not glob.takes_all and glob.pattern != "/*/*" and not leaf.key:
        problem = f"parts that do not match {glob.pattern} have pods, too, which end at once"
        yield Note(pipeline, at, problem, "commit those that do not match to another dataset")
    if split == "file" and glob.is_deep:
        problem = "each file is a part; in Pachyderm, folders that match are parts, too"
        yield Note(pipeline, at, problem, "commit such folders at the top of a dataset, and set split: directory")
