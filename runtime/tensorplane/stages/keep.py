"""The result of one item: the files that the stage's program wrote."""

from __future__ import annotations

from pathlib import Path

from tensorplane.datasets import Refused, scan
from tensorplane.stages import kept, plan
from tensorplane.stages.description import Stage
from tensorplane.stages.results import Result, Results


def keep(stage: Stage, run: str, number: int, folder: Path) -> int:
    """Keep the files of a folder as the result of an item, by its number in the run's plan; how many there are.

    Raises Refused for what is no regular file. Reads nothing that grows with the dataset: this is a small container.
    """
    item = plan.due(stage, run).get(number)
    if item is None:
        raise Refused(f"{stage.name}: part {number} has a result since {run} was planned again; nothing is kept")
    with stage.output().attempt() as dataset:
        found = scan.changes(dataset.store, folder, scan.Index())
        files = {path: file for path, file in found.files.items() if file is not None}
        Results(dataset).keep(item.key, item.about, Result(files, run))
    kept.note(stage, run, number)
    return len(files)
