"""The log of a dataset's branch, as the library `tensorplane.datasets` writes it: files numbered from 1 without gaps,
each with the id of a commit. Nothing in it ever changes, so all of it can be read while others commit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Head:
    """The newest commit of a branch."""

    number: int
    """Of the log."""
    commit: str


@dataclass(frozen=True)
class Log:
    """The log of a branch of the dataset in a folder."""

    root: Path
    branch: str

    def head(self, known: int = 0) -> Head | None:
        """The newest commit; None if there is no such branch. `known`: a number that the log had a moment ago."""
        number = known if known and self._path(known).exists() else self._near()
        while self._path(number + 1).exists():
            number += 1
        return Head(number, self.entry(number)) if number else None

    def entry(self, number: int) -> str:
        """The commit with this number; empty if there is none, as after the branch was deleted."""
        try:
            return self._path(number).read_text()
        except FileNotFoundError:
            return ""

    def since(self, number: int, last: int) -> Iterator[Mapping[str, Any]]:
        """What the commits after a number say, up to and with the last one."""
        for each in range(number + 1, last + 1):
            yield self.read(self.entry(each))

    def back(self, head: Head, most: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The newest commits up to this one, newest first: the id of each, and what it says."""
        for number in range(head.number, max(0, head.number - most), -1):
            if commit := self.entry(number):
                yield commit, self.read(commit)

    def read(self, commit: str) -> Mapping[str, Any]:
        """What a commit says."""
        found: Mapping[str, Any] = json.loads((self.root / "commits" / commit[:2] / commit[2:]).read_text())
        return found

    def _near(self) -> int:
        try:
            number = int((self._folder / "near").read_text())
        except (OSError, ValueError):
            number = 0
        if number and self._path(number).exists():
            return number
        try:
            names = [path.name for path in self._folder.iterdir()]
        except OSError:
            return 0
        return max((int(name) for name in names if name.isdecimal()), default=0)

    @property
    def _folder(self) -> Path:
        return self.root / "branches" / self.branch

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:010d}"
