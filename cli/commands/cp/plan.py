"""Which files a copy has to transfer: those that the target lacks, or has with another size or time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorplane.cli.commands.cp.transfer import FILE, FOLDER, ITSELF, LEFT_OUT
from tensorplane.cli.output.texts import first_names
from tensorplane.components.base.problems import legible
from tensorplane.core.errors import UserError

Entry = Mapping[str, Any]
"""A file, folder or link, as `transfer.entries` describes it."""
_MAX_NAMES = 3


@dataclass
class Plan:
    """What to transfer."""

    wanted: list[Entry] = field(default_factory=list)
    unchanged: int = 0
    """Files that are there already."""
    left_out: list[str] = field(default_factory=list)
    """Links that lead out of the folder, and what is neither file nor folder."""

    @property
    def files(self) -> int:
        """How many files and links to transfer."""
        return sum(each["kind"] != FOLDER for each in self.wanted)

    @property
    def size(self) -> int:
        """Bytes of the files to transfer."""
        return sum(int(each["size"]) for each in self.wanted if each["kind"] == FILE)

    @property
    def notes(self) -> list[str]:
        """What else there is to say, a line each."""
        what = "not copied, because they are links that lead out of the folder, or special files"
        return [f"{what}: {first_names([*map(legible, self.left_out)], _MAX_NAMES)}"] if self.left_out else []


def of(source: Sequence[Entry], target: Iterable[Entry], names: tuple[str, str]) -> Plan:
    """The plan. `names`: of source and target, for the UserError if one is a folder and the other a file."""
    there = {each["path"]: each for each in target}
    if not source:
        raise UserError(f"{names[0]}: does not exist")
    kind, before = source[0]["kind"], there.get(ITSELF)
    if kind == LEFT_OUT:
        raise UserError(f"{names[0]}: is neither a file nor a folder")
    if before and before["kind"] != kind:
        is_folder = before["kind"] == FOLDER
        remedy = "end it with / to copy into it" if is_folder else "remove it first, or choose another name"
        raise UserError(f"{names[1]}: is a {before['kind']}, and {names[0]} is a {kind}; {remedy}")
    found = Plan()
    for each in source:
        if each["kind"] == LEFT_OUT:
            found.left_out.append(each["path"])
        elif not _is_same(each, there.get(each["path"])):
            found.wanted.append(each)
        elif each["kind"] != FOLDER:
            found.unchanged += 1
    return found


def _is_same(one: Entry, other: Entry | None) -> bool:
    if other is None or one["kind"] != other["kind"]:
        return False
    if one["kind"] == FOLDER:
        return True
    keys = ("size", "time", "run") if one["kind"] == FILE else ("target",)
    return all(one[key] == other[key] for key in keys)
