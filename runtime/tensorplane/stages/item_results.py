"""The result of each item of a run: the files that the stage's program wrote. Who keeps one adds its number to a file
of the run.

To look for the results themselves until they are there does not do: a client of NFS that found no file of a name may
say so for half a minute after another client has made it. A file that is there is read anew each time it is opened. A
number that is lost between two clients only makes the commit wait until Argo knows that the pods have ended.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorplane.datasets import scan
from tensorplane.stages import plan
from tensorplane.stages.description import Stage
from tensorplane.stages.results import Result, Results


def note(stage: Stage, run: str, number: int) -> None:
    """Says that the result of an item is there."""
    file = os.open(plan.kept_of(stage, run), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(file, f"{number}\n".encode())
    finally:
        os.close(file)


class PendingResults:
    """The results that a run of a stage waits for."""

    def __init__(self, stage: Stage, run: str) -> None:
        """Raises OSError if the run has no plan."""
        self._numbers = set(plan.due(stage, run))
        self._path: Path = plan.kept_of(stage, run)

    def are_there(self) -> bool:
        """Whether all are there. Reads nothing but one small file."""
        return not self._numbers or self._numbers <= set(map(int, _lines(self._path)))


def _lines(path: Path) -> list[str]:
    """Whole lines: the last one may be being written."""
    *lines, _ = path.read_text().split("\n")
    return [line for line in lines if line.isdigit()]


def keep(stage: Stage, run: str, number: int, folder: Path, ran: Mapping[str, Any] | None = None) -> int | None:
    """Keeps the files of a folder as the result of an item, by its number in the run's plan; how many there are.
    `ran`: where and when it was made, as in `Result`.

    None if the item has a result since the run was planned again: a pod of the plan before may still work on it. Raises
    Refused for what is no regular file. Reads nothing that grows with the dataset: this is a small container.
    """
    item = plan.due(stage, run).get(number)
    if item is None:
        return None
    with stage.output().attempt() as dataset:
        found = scan.changes(dataset.store, folder, scan.Index())
        files = {path: file for path, file in found.files.items() if file is not None}
        Results(dataset).keep(item.key, Result(files, run, ran or {}))
    note(stage, run, number)
    return len(files)
