"""One dataset: what programs and commands do with it."""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tensorplane.datasets import checkout, commit, durable, labels, reads, references, retention, scan, tree
from tensorplane.datasets.commit import After, Commit, Note
from tensorplane.datasets.errors import Gone, Refused, collected
from tensorplane.datasets.references import MAIN
from tensorplane.datasets.store import Store, blob_name
from tensorplane.datasets.table import Table
from tensorplane.datasets.tree import File

if TYPE_CHECKING:
    from tensorplane.datasets.tree import Change

_NO_NOTE = Note()

Check = Callable[[Iterable[tuple[str, Path]]], None]
"""Looks at new files: their paths and where their contents are. Raises Refused, a line per fault, to refuse them."""


class Dataset:
    """A folder of a volume with the versions of one collection of files.

    A reference names a commit: a branch, a label, the first 6 or more digits of the id of a commit or of a version, or
    one of these with ~N for the N-th before.
    """

    def __init__(self, root: Path | str) -> None:
        self.store = Store(Path(root))

    def commit(
        self,
        folder: Path | str,
        *,
        branch: str = MAIN,
        note: Note = _NO_NOTE,
        base: str | None = None,
        whole: bool = False,
        ours_win: bool = False,
        adopt: bool = False,
        check: Check | Table | None = None,
        index: Path | None = None,
    ) -> Commit:
        """Makes the files of a folder the newest version of a branch, which is created if it does not exist.

        `base`: the reference that the folder was made from; the newest version by default. What others commit meanwhile
        is kept, unless `whole`. Files that both changed raise Conflict, unless `ours_win`. `adopt`: keep the files
        themselves instead of copies; nobody may write to them again. `check`: looks at new files; a table at all that
        are not known to fit, since its columns may have changed. `index`: where to note what was read, so that
        unchanged files are not read by the next commit; by default in the dataset, by the folder's path.
        """
        folder = Path(folder)
        if self.store.is_in(folder):
            raise Refused(f"{folder}: has the dataset {self.store.root} in it; name a folder that has its files alone")
        self.store.create()
        references.allow_branch(self.store, branch)
        known = references.resolve(self.store, base).version if base else None
        if not base and (now := commit.head(self.store, branch)):
            known = now.version
        index = index or self.store.root / "indexes" / hashlib.sha256(str(folder.absolute()).encode()).hexdigest()
        before = scan.Index.read(index)
        with self.store.attempt() as store:
            while True:
                try:
                    found = scan.changes(store, folder, before, adopt=adopt)
                    ours = tree.update(store, before.version, found.files).id
                    made = commit.publish(
                        store, branch, ours, note, base=known, whole=whole, ours_win=ours_win, look=self._look(check)
                    )
                except Gone:  # of what the index knows; if it knows nothing, of the base
                    if before.version is None:
                        raise
                    before = scan.Index()
                else:
                    break
        if before.version is None or found.are_many:
            with contextlib.suppress(OSError):  # the commit is made; without an index, the next one reads all files
                scan.Index(ours, set(found.stamps.values())).write(index, self.store.parts)
        return made

    def put(
        self,
        changes: Mapping[str, File | None],
        *,
        branch: str = MAIN,
        note: Note = _NO_NOTE,
        base: str | None = None,
        ours_win: bool = False,
        whole: bool = False,
        check: Check | Table | None = None,
        after: After | None = None,
    ) -> Commit:
        """Commits changes of some files: what `keep` returned, or None to remove a file. The others stay, unless
        `whole`: then the branch has these files and no others.

        Costs as much as the changes. `after`: refuses a newest commit that this one must not follow. `base` and
        the rest are as in `commit`.
        """
        self.store.create()
        references.allow_branch(self.store, branch)
        now = references.resolve(self.store, base) if base else commit.head(self.store, branch)
        known = now.version if now else None
        with self.store.attempt() as store:
            ours = tree.update(store, None if whole else known, changes).id
            look = self._look(check)
            return commit.publish(
                store, branch, ours, note, base=known, ours_win=ours_win, whole=whole, after=after, look=look
            )

    @contextlib.contextmanager
    def attempt(self) -> Iterator[Dataset]:
        """The dataset for a commit by `keep` and `put`: if the block fails, what it kept is removed again."""
        with self.store.attempt() as store:
            dataset = copy.copy(self)
            dataset.store = store
            yield dataset

    def keep(self, source: BinaryIO, *, executable: bool = False) -> File:
        """Keeps a content for `put`."""
        self.store.create()
        return self.store.copy(Path(), source, executable=executable)

    def lacks(self, files: Iterable[File]) -> list[File]:
        """Those whose contents are not kept yet. The others stay for the grace period of `collect`."""
        self.store.create()
        return [file for file in files if not self.store.has("objects", blob_name(file))]

    def resolve(self, reference: str = MAIN) -> Commit:
        """The commit that a reference names. Raises Refused if there is none, or several.

        In a job that makes a model again, the commit that it named then.
        """
        found = references.resolve(self.store, reads.pinned(self.store.root, reference))
        reads.resolved(self.store.root, reference, found)
        return found

    def log(self, reference: str = MAIN) -> Iterator[Commit]:
        """A commit and those before it, newest first."""
        return commit.log(self.store, references.resolve(self.store, reference).id)

    def since(self, branch: str, number: int) -> Iterator[tuple[int, Commit]]:
        """A branch's commits after this number of its log, oldest first, with their numbers. 0 is before the first."""
        for place in range(number + 1, commit.last(self.store, branch) + 1):
            yield place, commit.read(self.store, commit.entry(self.store, branch, place))

    def diff(self, before: str | None, after: str = MAIN) -> list[Change]:
        """Files that differ between two references, by path; before None there were none."""
        one = references.resolve(self.store, before).version if before else None
        return sorted(tree.diff(self.store, one, references.resolve(self.store, after).version))

    def files(self, reference: str = MAIN) -> dict[str, File]:
        """All files of a version."""
        return dict(tree.walk(self.store, self.read(reference).version))

    def read(self, reference: str = MAIN) -> Commit:
        """The commit that a reference names, whose version counts from now on as an input of what a training job
        publishes.
        """
        found = references.resolve(self.store, reads.pinned(self.store.root, reference))
        reads.note(self.store.root, reference, found)
        return found

    def open(self, reference: str = MAIN) -> Path:
        """A folder with the files of a version, the same for all readers. They are read-only."""
        return checkout.opened(self.store, self.read(reference).version)

    def checkout(self, reference: str, target: Path | str, only: Iterable[str] = ("",)) -> None:
        """Makes a new folder with files of a version, or only with these files and folders. They are read-only."""
        version = self.read(reference).version
        checkout.made(self.store, Path(target), checkout.selected(self.store, version, only))

    def content(self, file: File) -> Path:
        """Where the content of a file is. It must not be written to."""
        return self.store.blob(file)

    def branches(self) -> dict[str, Commit]:
        """The newest commit of each branch."""
        return {name: commit.read(self.store, each) for name, each in commit.heads(self.store).items()}

    def branch(self, name: str, reference: str = MAIN) -> Commit:
        """Creates a branch that starts with an existing commit. Raises Refused if the branch exists."""
        start = references.resolve(self.store, reference)
        references.allow_branch(self.store, name)
        commit.fork(self.store, name, start)
        return start

    def delete_branch(self, name: str) -> None:
        """Deletes a branch; its commits stay where another branch or a label has them."""
        commit.delete(self.store, name)

    def rollback(
        self,
        reference: str,
        *,
        branch: str = MAIN,
        note: Note = _NO_NOTE,
        check: Check | Table | None = None,
    ) -> Commit:
        """Makes an earlier version the newest of a branch again, as a commit of its own: history is not rewritten.

        The commit says where the files come from, in addition to the note. `check` is as in `commit`.
        """
        found = references.resolve(self.store, reference)
        now = commit.head(self.store, branch)
        if now is None:
            raise Refused(f"{branch}: no such branch")
        commit.present(self.store, found.version)
        if found.version == now.version and not note.provenance:
            return now
        message = note.message or f"rollback to {found.id[:12]}"
        note = Note(message, note.author, {**_rolled_back(found), **note.provenance})
        return commit.publish(self.store, branch, found.version, note, base=None, whole=True, look=self._look(check))

    def labels(self) -> dict[str, Commit]:
        """The labeled commits."""
        return {name: commit.read(self.store, each.commit) for name, each in labels.read(self.store).items()}

    def label(self, name: str, reference: str = MAIN, *, seconds: float | None = None, move: bool = False) -> Commit:
        """Labels a commit, whose version then is kept.

        `seconds`: the label is a lease, which ends by itself, unless the commit has it for longer. `move`: take it from
        another commit.
        """
        if seconds is not None and not seconds > 0:
            raise Refused(f"seconds: is {seconds!r}, so the label would have ended; set it to more than 0")
        found = references.resolve(self.store, reference)
        references.allow_label(self.store, name)
        commit.present(self.store, found.version)
        until = time.time() + seconds if seconds is not None else None
        labels.write(self.store, name, labels.Label(found.id, until), move=move)
        return found

    def unlabel(self, name: str) -> None:
        """Removes a label."""
        labels.delete(self.store, name)

    def collect(
        self,
        rule: retention.Rule,
        *,
        used: Iterable[str] = (),
        others: Iterable[Path | str] = (),
        grace_seconds: float = retention.GRACE_SECONDS,
    ) -> dict[str, int]:
        """Deletes versions that the rule does not keep; see `retention`.

        `used`: versions that stay, too. So do those that other datasets were made from: those in the same folder, and
        `others`, the folders of those elsewhere. `grace_seconds`: what was used in this time stays; a day by default.
        """
        return retention.collect(self.store, rule, used=self._used(used, others), grace_seconds=grace_seconds)

    def collect_now(
        self, rule: retention.Rule, *, used: Iterable[str] = (), others: Iterable[Path | str] = ()
    ) -> dict[str, int]:
        """The same without the grace period, for a volume that is full; takes half a minute."""
        return retention.collect_now(self.store, rule, used=self._used(used, others))

    def _used(self, used: Iterable[str], others: Iterable[Path | str]) -> set[str]:
        stores = {store.root: store for store in retention.neighbours(self.store)}
        stores.update({root: Store(root) for root in (Path(each).absolute() for each in others)})
        return {*used, *retention.used_by(stores.values())}

    def damaged(self, reference: str = MAIN) -> Iterator[str]:
        """Files of a version whose contents are not what was committed."""
        for path, file in tree.walk(self.store, references.resolve(self.store, reference).version):
            if _digest(self.content(file)) != file.digest:
                yield path

    def _look(self, check: Check | Table | None) -> Callable[[str | None, str], None] | None:
        """What looks at a branch's newest version and the one that is to follow."""
        if isinstance(check, Table):
            return functools.partial(self._fits, check)
        return functools.partial(self._check, check) if check else None

    def _check(self, check: Check, before: str | None, after: str) -> None:
        check(list(self._new(before, after).items()))

    def _fits(self, table: Table, before: str | None, after: str) -> None:
        fitting = self.store.root / "indexes" / f"table-{table.id}"
        """File with a version that fits: only what differs from it is read."""
        try:
            files = self._new(fitting.read_text(), after)
        except (FileNotFoundError, Gone):
            files = self._new(None, after)
        try:
            table.check(files.items(), former=files.keys() - self._new(before, after).keys())
        except FileNotFoundError:
            raise collected(self.store.root.name) from None
        with contextlib.suppress(OSError):  # without it, the next commit reads all files
            durable.replace(fitting, after.encode(), self.store.parts)

    def _new(self, before: str | None, after: str) -> dict[str, Path]:
        """Files that `before` has not, and where their contents are."""
        return {path: self.store.blob(new) for path, _, new in tree.diff(self.store, before, after) if new}


def _rolled_back(of: Commit) -> dict[str, Any]:
    """What a commit says that has the files of an earlier one.

    What made them is one level below, because no program made this commit: a recorder goes on where its last one ends,
    and a trigger compares runs.
    """
    before = of.provenance.get("rollback")
    if not isinstance(before, Mapping) or not {"commit", "provenance"} <= before.keys():  # a program may write any key
        before = {"commit": of.id, "provenance": of.provenance}
    inputs = of.provenance.get("inputs")
    return {"rollback": before, **({"inputs": inputs} if inputs else {})}


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except FileNotFoundError:
        return None
    return digest.hexdigest()
