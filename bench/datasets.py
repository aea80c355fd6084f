"""Datasets: what a commit of one changed file costs beside the first commit, and the space of many versions."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figure import Figure, Measured
from tensorplane.datasets import Dataset

_FILES, _FOLDERS, _BYTES = 10_000, 10, 10_000
_COMMITS, _VERSIONS = 7, 100
_SETTLE_SECONDS = 1.0
_BLOCK = 512


@contextmanager
def _committed() -> Iterator[tuple[Dataset, Path, float]]:
    """A dataset of many files, the folder that was committed, and how long that took."""
    with tempfile.TemporaryDirectory(prefix="bench-datasets-") as made:
        folder = Path(made) / "folder"
        for number in range(_FILES):
            path = _path(folder, number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(_BYTES))
        os.sync()
        time.sleep(_SETTLE_SECONDS)  # a file of this instant would be read again
        dataset = Dataset(Path(made) / "dataset")
        began = time.perf_counter()
        dataset.commit(folder)
        yield dataset, folder, time.perf_counter() - began


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number % _FOLDERS}" / f"{number}.bin"


def _commit() -> Measured:
    """The median of commits of one changed file each, in percent of the first commit."""
    with _committed() as (dataset, folder, first):
        taken = []
        for number in range(_COMMITS):
            _path(folder, number * 7).write_bytes(os.urandom(_BYTES))
            began = time.perf_counter()
            dataset.commit(folder)
            taken.append(time.perf_counter() - began)
    one = statistics.median(taken)
    return Measured(one / first * 100, f"{one * 1000:.0f} ms beside {first:.1f} s for {_FILES:,} files")


def _dedup() -> Measured:
    """The space of so many further versions as copies, over the space that they take."""
    with _committed() as (dataset, folder, _):
        copy, before = _space(folder), _space(dataset.store.root)
        for number in range(_VERSIONS):
            _path(folder, number).write_bytes(os.urandom(_BYTES))
            dataset.commit(folder)
        added = _space(dataset.store.root) - before
        whole = (_VERSIONS + 1) * copy / _space(dataset.store.root)
    return Measured(
        _VERSIONS * copy / added, f"{added / _VERSIONS / 1000:.0f} kB a version; {whole:.0f} with the first"
    )


def _space(folder: Path) -> int:
    """Bytes on the disk, of files with several names once."""
    found = {about.st_ino: about.st_blocks for path in folder.rglob("*") for about in (path.lstat(),)}
    return sum(found.values()) * _BLOCK


FIGURES = (
    Figure("dataset-commit", "<= 1", "%", _commit),
    Figure("dataset-dedup", ">= 100", "x", _dedup),
)
