"""The result of one item: the files that the stage's program wrote."""

from __future__ import annotations

from pathlib import Path

from tensorplane.datasets import scan
from tensorplane.stages import kept, plan
from tensorplane.stages.description import Stage
from tensorplane.stages.results import Result, Results


def keep(stage: Stage, run: str, number: int, folder: Path) -> int | None:
    """Keep the files of a folder as the result of an item, by its number in the run's plan; how many there are.

    None if the item has a result since the run was planned again: a pod of the plan before may still work on it. Raises
    Refused for what is no regular file. Reads nothing that grows with the dataset: this is a small container.
    """
    item = plan.due(stage, run).get(number)
    if item is None:
        return None
    with stage.output().attempt() as dataset:
        found = scan.changes(dataset.store, folder, scan.Index())
        files = {path: file for path, file in found.files.items() if file is not None}
        Results(dataset).keep(item.key, Result(files, run))
    kept.note(stage, run, number)
    return len(files)
