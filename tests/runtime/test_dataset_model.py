"""Random operations on a dataset against a reference in Python.

They follow from the seed.
"""

from __future__ import annotations

import io
import itertools
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensorplane.datasets import Commit, Conflict, Dataset, Refused, tree
from tensorplane.datasets.retention import Rule
from tests.support import counts

SEED = counts.seed()
OPERATIONS = counts.of(quick=150, nightly=10000)
PATHS = [*"abcdefgh", "a/b", "a/c", "a/b/c", "b/c/d", "d/e", "d/f", "d/g", "d/h", "d/i", "Å/ö"]

_LOOKED_AT = 5
"""Commits of each branch that are compared after each operation."""
_MEMORY = Path("/dev/shm")
"""Where a file need not be written to a disk, which would take most of the time."""

Files = dict[str, tuple[bytes, bool]]
"""Content and executable bit by path."""


@pytest.mark.counted
@pytest.mark.nightly("150 random operations; test_dataset.py has examples of each")
def test_random_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "LEAF", 3)  # so that small folders are split too
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as made:
        world = _World(Path(made), random.Random(f"{SEED}"))
        for _ in range(OPERATIONS):
            world.step()
        world.look_at_everything()


class _World:
    """A dataset, and what it should be."""

    def __init__(self, tmp: Path, chance: random.Random) -> None:
        self.chance, self.tmp, self.dataset = chance, tmp, Dataset(tmp / "dataset")
        self.folder = tmp / "folder"
        self.folder.mkdir()
        self.history: dict[str, list[str]] = {}
        """Ids of the commits of each branch, oldest first."""
        self.parent: dict[str, str | None] = {}
        """The commit before each commit."""
        self.content: dict[str, Files] = {}
        """Of each commit."""
        self.labels: dict[str, str] = {}
        self.gone: set[str] = set()
        """Versions that retention has deleted."""
        self.versions: dict[frozenset[tuple[str, tuple[bytes, bool]]], str] = {}
        """By what is in them."""
        self.count = 0

    def step(self) -> None:
        """One operation, and what must be true after it."""
        choices: list[tuple[Callable[[], None], int]] = [
            (self.put, 6),
            (self.commit, 4),
            (self.branch, 1),
            (self.rollback, 1),
            (self.label, 1),
            (self.unlabel, 1),
            (self.delete_branch, 1),
            (self.collect, 1),
            (self.read, 4),
            (self.diff, 2),
        ]
        operations, weights = zip(*choices, strict=True)
        self.chance.choices(operations, weights)[0]()
        for branch, commits in self.history.items():
            newest = itertools.islice(self.dataset.log(branch), _LOOKED_AT)
            assert [made.id for made in newest][: len(commits)] == commits[: -_LOOKED_AT - 1 : -1]
        assert {*self.dataset.branches()} == {*self.history}
        assert {name: made.id for name, made in self.dataset.labels().items()} == self.labels

    def put(self) -> None:
        """Changes of some files, sometimes made from an older version than the branch's newest."""
        branch = self._branch()
        commits = self.history.get(branch, [])
        base = self.chance.choice(commits[-4:]) if commits and self.chance.random() < 0.5 else None
        if base and self._version(base) in self.gone:
            return
        changes = {path: self._file() for path in self.chance.sample(PATHS, self.chance.randint(1, 4))}
        ours_win = self.chance.random() < 0.3
        start = self.content[base] if base else self._newest(branch)
        expected = self._merged(branch, start, changes, ours_win)
        kept = {path: None if file is None else self._keep(file) for path, file in changes.items()}
        try:
            made = self.dataset.put(kept, branch=branch, base=base, ours_win=ours_win)
        except Conflict:
            assert expected is None
            return
        self._committed(branch, made, expected)

    def commit(self) -> None:
        """A folder, changed in place since it was last committed to any branch."""
        branch = self._branch()
        for path in self.chance.sample(PATHS, self.chance.randint(1, 3)):
            self._write(path, self._file())
        ours = {
            str(path.relative_to(self.folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
            for path in self.folder.rglob("*")
            if path.is_file()
        }
        self._committed(branch, self.dataset.commit(self.folder, branch=branch), ours)

    def branch(self) -> None:
        if self.history:
            origin, name = self.chance.choice([*self.history]), f"b{self.count}"
            start = self.chance.choice(self.history[origin])
            self.count += 1
            if self._refused(start, lambda: self.dataset.branch(name, start)):
                return
            self.history[name] = [start]

    def delete_branch(self) -> None:
        if len(self.history) > 2:
            name = self.chance.choice([*self.history])
            self.dataset.delete_branch(name)
            del self.history[name]

    def rollback(self) -> None:
        if self.history:
            branch = self.chance.choice([*self.history])
            target = self.chance.choice(self.history[branch])
            if not self._refused(target, lambda: self.dataset.rollback(target, branch=branch)):
                self._committed(branch, self.dataset.resolve(branch), self.content[target])

    def label(self) -> None:
        if self.history:
            name, commit = (
                f"l{self.chance.randint(0, 5)}",
                self.chance.choice(self.chance.choice([*self.history.values()])),
            )
            move = self.chance.random() < 0.5
            if name in self.labels and self.labels[name] != commit and not move:
                with pytest.raises(Refused):
                    self.dataset.label(name, commit)
            elif not self._refused(commit, lambda: self.dataset.label(name, commit, move=move)):
                self.labels[name] = commit

    def unlabel(self) -> None:
        if self.labels:
            name = self.chance.choice([*self.labels])
            self.dataset.unlabel(name)
            del self.labels[name]

    def collect(self) -> None:
        last = self.chance.randint(1, 5)
        self.dataset.collect(Rule(last=last), grace_seconds=0)
        kept = {self._version(each) for each in self.labels.values()}
        for commits in self.history.values():
            kept.update(self._version(each) for each in itertools.islice(self._log(commits[-1]), last))
        self.gone |= {*self.versions.values()} - kept
        for version in kept - self.gone:
            assert not list(self.dataset.damaged(version))

    def read(self) -> None:
        if self.content:
            commit = self.chance.choice([*self.content])
            if commit in self._reachable() and not self._refused(commit, lambda: self.dataset.open(commit)):
                assert _files(self.dataset.open(commit)) == self.content[commit]

    def diff(self) -> None:
        reachable = self._reachable()
        here = [each for each in self.content if each in reachable and self._version(each) not in self.gone]
        if here:
            one, other = self.chance.choice(here), self.chance.choice(here)
            before, after = self.content[one], self.content[other]
            expected = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
            assert [path for path, _, _ in self.dataset.diff(one, other)] == expected

    def look_at_everything(self) -> None:
        for branch, commits in self.history.items():
            assert [made.id for made in self.dataset.log(branch)] == [*self._log(commits[-1])]
        reachable = self._reachable()
        for commit, files in self.content.items():
            if commit in reachable and self._version(commit) not in self.gone:
                assert _files(self.dataset.open(commit)) == files

    def _branch(self) -> str:
        return self.chance.choice(["main", *self.history])

    def _file(self) -> tuple[bytes, bool] | None:
        if self.chance.random() < 0.3:
            return None
        return self.chance.randbytes(self.chance.choice([0, 1, 1, 100])), self.chance.random() < 0.2

    def _keep(self, file: tuple[bytes, bool]) -> tree.File:
        return self.dataset.keep(io.BytesIO(file[0]), executable=file[1])

    def _write(self, path: str, file: tuple[bytes, bool] | None) -> None:
        target = self.folder / path
        blocked = any(parent.is_file() for parent in target.parents) or target.is_dir()
        if file is None:
            if target.is_file():
                target.unlink()
                for parent in list(target.parents)[: path.count("/")]:
                    if not any(parent.iterdir()):
                        parent.rmdir()
        elif not blocked:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file[0])
            target.chmod(0o755 if file[1] else 0o644)

    def _newest(self, branch: str) -> Files:
        commits = self.history.get(branch)
        return self.content[commits[-1]] if commits else {}

    def _merged(
        self, branch: str, base: Files, changes: dict[str, tuple[bytes, bool] | None], ours_win: bool
    ) -> Files | None:
        """The files after a put; None for a conflict."""
        ours = _changed(base, changes)
        theirs = self._newest(branch)
        if ours is None or not self.history.get(branch):
            return ours
        mine = {path: ours.get(path) for path in base.keys() | ours.keys() if base.get(path) != ours.get(path)}
        others = {path: theirs.get(path) for path in base.keys() | theirs.keys() if base.get(path) != theirs.get(path)}
        if not ours_win and any(mine[path] != others[path] for path in mine.keys() & others.keys()):
            return None
        return _changed(theirs, mine)

    def _committed(self, branch: str, made: Commit, expected: Files | None) -> None:
        assert expected is not None
        assert (made.files, made.size) == (len(expected), sum(len(content) for content, _ in expected.values()))
        self.gone.discard(made.version)
        # A version is named after what is in it, and nothing else has that name.
        assert (made.version in self.versions.values()) == (frozenset(expected.items()) in self.versions)
        assert self.versions.setdefault(frozenset(expected.items()), made.version) == made.version
        commits = self.history.setdefault(branch, [])
        if made.id not in commits[-1:]:
            assert made.parents == commits[-1:]
            assert made.id not in self.content
            self.parent[made.id] = commits[-1] if commits else None
            commits.append(made.id)
        self.content[made.id] = expected
        assert _files(self.dataset.open(branch)) == expected

    def _version(self, commit: str) -> str:
        return self.versions[frozenset(self.content[commit].items())]

    def _log(self, commit: str | None) -> Iterator[str]:
        """A commit and those before it, newest first."""
        while commit is not None:
            yield commit
            commit = self.parent[commit]

    def _reachable(self) -> set[str]:
        """What branches have, with the commits before their start, and what labels name."""
        found: set[str] = set()
        for commits in self.history.values():
            found.update(itertools.takewhile(lambda each: each not in found, self._log(commits[-1])))
        return found | {*self.labels.values()}

    def _refused(self, commit: str, operation: Callable[[], object]) -> bool:
        """Do it; whether it was refused, as it may be only if the version is gone."""
        version = self._version(commit)
        try:
            operation()
        except Refused as error:
            assert "deleted by the retention" in str(error)
            assert version in self.gone
            return True
        self.gone.discard(version)  # all its files and folders are in other versions
        return False


def _changed(files: Files, changes: dict[str, tuple[bytes, bool] | None]) -> Files | None:
    """Files with changes; None if a path would be a file and a folder."""
    made = {path: file for path, file in {**files, **changes}.items() if file is not None}
    clash = any(path.startswith(f"{other}/") for path in made for other in made)
    return None if clash else made


def _files(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in folder.rglob("*")
        if path.is_file()
    }
