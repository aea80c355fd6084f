"""Requests to a dataset in JSON, for the command line and programs in other languages; see `__main__`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from tensorplane.datasets import checkout, tree
from tensorplane.datasets.commit import Commit, Note
from tensorplane.datasets.dataset import Dataset
from tensorplane.datasets.errors import Cut, Refused
from tensorplane.datasets.references import MAIN
from tensorplane.datasets.retention import GRACE_SECONDS, Rule
from tensorplane.datasets.table import Table
from tensorplane.datasets.tree import File

_CHUNK = 1 << 20
_COLLECTED = "collected"
"""File whose time is that of the last collection."""
Asked = Mapping[str, Any]


def commit(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> Commit:
    """Commits `folder` of this machine. The other keys are the parameters of `Dataset.commit`, and as in `put`."""
    flags = {name: asked[name] for name in ("base", "whole", "adopt") if asked.get(name)}
    made = dataset.commit(asked["folder"], **flags, **_common(asked))
    collect_if_due(dataset, asked)
    return made


def lacks(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> dict[str, Any]:
    """Which of `files`, {path: [digest, size, executable]}, the dataset has no content of, and the `branch`'s newest
    commit, from which `put` starts.
    """
    files = {path: File(*each) for path, each in asked["files"].items()}
    missing = set(dataset.lacks(set(files.values())))
    first = {files[path]: path for path in sorted(files, reverse=True)}
    head = dataset.branches().get(asked.get("branch", MAIN))
    return {"paths": sorted(path for each, path in first.items() if each in missing), "base": head and head.id}


def put(dataset: Dataset, asked: Asked, source: BinaryIO, _: BinaryIO) -> Commit:
    """Commits `files`. `sent`: those whose contents follow. Other files below the folder `at` are removed, unless
    `add`. `message`, `author`, `branch`, `base`; of the settings: `conflicts`, `table`, `retention`.
    """
    with dataset.attempt() as attempt:
        made = _put(attempt, asked, source)
    collect_if_due(dataset, asked)
    return made


def _put(dataset: Dataset, asked: Asked, source: BinaryIO) -> Commit:
    files = {path: File(*each) for path, each in asked["files"].items()}
    for path in asked.get("sent", ()):
        _receive(dataset, path, files[path], source)
    base, prefix = asked.get("base"), f"{asked['at'].strip('/')}/" if asked.get("at", "").strip("/") else ""
    changes: dict[str, File | None] = {}
    if base and not asked.get("add"):
        changes = dict.fromkeys(path for path in dataset.files(base) if path.startswith(prefix))
    changes.update({prefix + path: file for path, file in files.items()})
    return dataset.put(changes, base=base, **_common(asked))


def files(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> dict[str, Any]:
    """The commit that `reference` names and its `files`."""
    found = dataset.read(asked.get("reference", MAIN))
    return {"commit": found, "files": dict(tree.walk(dataset.store, found.version))}


def send(dataset: Dataset, asked: Asked, _: BinaryIO, out: BinaryIO) -> None:
    """The contents of `files`, a list of [digest, size, executable]."""
    for each in asked["files"]:
        with dataset.content(File(*each)).open("rb") as file:
            while chunk := file.read(_CHUNK):
                out.write(chunk)


def open_(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> dict[str, Any]:
    """The `path` of a folder with the files of `reference`, which exists from then on."""
    found = dataset.read(asked.get("reference", MAIN))
    return {"commit": found, "path": str(checkout.opened(dataset.store, found.version))}


def log(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> list[dict[str, Any]]:
    """The newest `limit` commits of `reference`, each with whether its version is still kept."""
    found = islice(dataset.log(asked.get("reference", MAIN)), asked.get("limit"))
    named: dict[str, list[str]] = {}
    for name, each in [*dataset.branches().items(), *dataset.labels().items()]:
        named.setdefault(each.id, []).append(name)
    return [
        {"commit": each, "names": named.get(each.id, []), "kept": dataset.store.path("trees", each.version).exists()}
        for each in found
    ]


def diff(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> list[Any]:
    """Files that differ between `before` and `after`: [path, file before, file after]."""
    return list(dataset.diff(asked.get("before"), asked.get("after", MAIN)))


def branches(dataset: Dataset, _: Asked, __: BinaryIO, ___: BinaryIO) -> dict[str, Any]:
    """The newest commit of each branch, and the labeled commits."""
    return {"branches": dataset.branches(), "labels": dataset.labels()}


def branch(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> Commit | None:
    """Creates the branch `name` at `reference`; with `delete`, deletes it."""
    if asked.get("delete"):
        dataset.delete_branch(asked["name"])
        return None
    return dataset.branch(asked["name"], asked.get("reference", MAIN))


def label(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> Commit | None:
    """Labels `reference` with `name`, for so many `seconds`; with `move` or `delete`, moves or deletes the label."""
    if asked.get("delete"):
        dataset.unlabel(asked["name"])
        return None
    seconds, move = asked.get("seconds"), asked.get("move", False)
    return dataset.label(asked["name"], asked.get("reference", MAIN), seconds=seconds, move=move)


def rollback(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> Commit:
    """Makes `reference` the newest version of `branch` again, unless it does not fit the settings' `table`."""
    check = check_of(asked.get("table"))
    return dataset.rollback(asked["reference"], branch=asked.get("branch", MAIN), note=_note(asked), check=check)


def _common(asked: Asked) -> dict[str, Any]:
    return {
        "branch": asked.get("branch") or MAIN,
        "note": _note(asked),
        "ours_win": asked.get("conflicts") == "last",
        "check": check_of(asked.get("table")),
    }


def _note(asked: Asked) -> Note:
    return Note(asked.get("message", ""), asked.get("author", ""), asked.get("provenance", {}))


def check_of(table: Mapping[str, Any] | None) -> Table | None:
    """A table's schema, as the settings have it; None for other datasets."""
    return Table(table["columns"], tuple(table.get("partitions") or ())) if table else None


def _receive(dataset: Dataset, path: str, expected: File, source: BinaryIO) -> None:
    part = _Part(source, expected.size)
    found = dataset.keep(part, executable=expected.executable)  # type: ignore[arg-type]
    if part.left:
        raise Cut(f"{path!r}: the connection ended; run the same command again, which sends the rest")
    if found != expected:
        raise Refused(f"{path!r}: changed while it was sent; run the same command again")


class _Part:
    """The next bytes of a stream, as a file of their own."""

    def __init__(self, source: BinaryIO, size: int) -> None:
        self._source, self.left = source, size

    def read(self, size: int) -> bytes:
        found = self._source.read(min(size, self.left))
        self.left -= len(found)
        return found


def collect_if_due(dataset: Dataset, asked: Asked) -> None:
    """Applies the retention that the settings declare, once in a grace period: it looks at all objects. If it is
    refused, that is said, a line for each fault, and the next period tries again: the commit before it exists.
    """
    mark = Path(dataset.store.root / _COLLECTED)
    if asked.get("retention") and (not mark.exists() or mark.stat().st_mtime < time.time() - GRACE_SECONDS):
        mark.touch()
        try:
            dataset.collect(_rule(asked), others=asked.get("others", ()))
        except Refused as error:
            for line in str(error).splitlines():
                print(f"{dataset.store.root.name}: retention was not applied: {line}", file=sys.stderr, flush=True)


def collect(dataset: Dataset, asked: Asked, _: BinaryIO, __: BinaryIO) -> dict[str, int]:
    """Applies the retention, and deletes what no kept version has: what is older than a grace period, or all with
    `now`. Versions that `others`, folders of datasets, were made from stay. How many were deleted of each kind, and how
    many `bytes`.
    """
    collected = dataset.collect_now if asked.get("now") else dataset.collect
    return collected(_rule(asked), others=asked.get("others", ()))


def _rule(asked: Asked) -> Rule:
    rule = asked.get("retention") or {}
    return Rule(rule.get("last"), rule.get("days"))


VERBS: Mapping[str, Callable[[Dataset, Asked, BinaryIO, BinaryIO], Any]] = {
    "commit": commit,
    "lacks": lacks,
    "put": put,
    "files": files,
    "send": send,
    "open": open_,
    "log": log,
    "diff": diff,
    "branches": branches,
    "branch": branch,
    "label": label,
    "rollback": rollback,
    "collect": collect,
}
