"""Results of parts: the files that a stage made of one part, by what decides them.

    results/    files of results by their keys
    inputs/     the result of each input in the newest version that a run made with it; a rollback does not undo this

They are in the folder of the output dataset, and their contents among its objects. A result is written once: of two
pods that work on the same part, one wins, and the other's files are not used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorplane.datasets import Dataset, File, durable
from tensorplane.datasets.errors import Gone
from tensorplane.datasets.store import Store, blob_name

_PREFIX = 2
_PARALLEL_WRITES = 16


@dataclass(frozen=True)
class Result:
    """What a stage made of one part."""

    files: Mapping[str, File]
    run: str
    """The run that made it."""
    ran: Mapping[str, Any] = field(default_factory=dict)
    """The machine on which it was made, with the times `from` and `to`; empty of one that an older tensorplane kept."""


class Results:
    """The results of a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._store: Store = dataset.store

    def read(self, key: str) -> Result | None:
        """A result; None if there is none, or retention has deleted its contents. They stay for the grace period."""
        try:
            found = json.loads(self._path("results", key).read_text())
        except FileNotFoundError:
            return None
        files = {path: File(*each) for path, each in found["files"].items()}
        return None if self._dataset.lacks(files.values()) else Result(files, found["run"], found.get("ran", {}))

    def keys(self) -> set[str]:
        """The keys of all results, also of those whose contents were deleted."""
        folders = self._store.root.glob(f"results/{'?' * _PREFIX}")
        return {folder.name + path.name for folder in folders for path in folder.iterdir()}

    def of_input(self, about: str) -> str | None:
        """The key of the result of an input in the newest version that a run made with it; None if none ever did."""
        try:
            return self._path("inputs", about).read_text()
        except FileNotFoundError:
            return None

    def keep(self, key: str, result: Result) -> None:
        """Keeps a result whose contents are in the dataset.

        Raises Gone if a collection has just deleted any.
        """
        if not self._store.use(lambda: (("objects", blob_name(file)) for file in result.files.values())):
            raise Gone(f"{result.run}: contents of a result were deleted by `data collect --now`; run the stage again")
        self._store.published()  # the result below may exist even if its creation fails
        content = {"files": result.files, "run": result.run, "ran": result.ran}
        path = self._made("results", key)
        if not durable.create(path, json.dumps(content).encode(), self._store.parts) and self.read(key) is None:
            durable.replace(path, json.dumps(content).encode(), self._store.parts)

    def take(self, keys: Mapping[str, str]) -> None:
        """Notes which results a version has, by the inputs that they are of."""

        def note(about: str) -> None:
            durable.replace(self._made("inputs", about), keys[about].encode(), self._store.parts)

        with ThreadPoolExecutor(_PARALLEL_WRITES) as pool:
            list(pool.map(note, keys))

    def _made(self, kind: str, name: str) -> Path:
        path = self._path(kind, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _path(self, kind: str, name: str) -> Path:
        return self._store.root / kind / name[:_PREFIX] / name[_PREFIX:]
