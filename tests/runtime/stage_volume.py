"""A volume with a stage of a pipeline, which tests run as the pods of a run do."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tensorplane.datasets import Dataset
from tensorplane.stages import plan
from tensorplane.stages.commit import commit
from tensorplane.stages.description import Input, Stage
from tensorplane.stages.item_results import keep

Work = Callable[[Mapping[str, Path], Path], None]


def upper(inputs: Mapping[str, Path], out: Path) -> None:
    """A stage's program: each file in upper case."""
    for path in sorted(inputs["texts"].rglob("*.txt")):
        if path.read_text() == "poison":
            raise ValueError(f"{path.name} cannot be read")
        made = out / path.relative_to(inputs["texts"])
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(path.read_text().upper())


class Volume:
    """A volume with the datasets `raw` and `made`, and the runs of a stage between them."""

    def __init__(self, root: Path) -> None:
        self.root, self.worked, self.runs = root, 0, 0
        self.ran: Iterator[Mapping[str, str]] = itertools.repeat({})
        """Where and when the following parts are made."""
        self.raw, self.made = Dataset(root / "datasets/raw"), Dataset(root / "datasets/made")

    def stage(self, **more: object) -> Stage:
        source = Input("texts", "raw", self.raw.store.root, "datasets/raw", by="file")
        stage = Stage("words", "upper", {"image": "a:1", "command": ["upper"]}, (source,), "made",
                      self.made.store.root, "datasets/made", {})  # fmt: skip
        return replace(stage, **more)  # type: ignore[arg-type]

    def put(self, **texts: str) -> str:
        folder = self.root / f"put-{random.random()}"
        folder.mkdir()
        for name, text in texts.items():
            (folder / f"{name}.txt").write_text(text)
        return self.raw.commit(folder, whole=True).id

    def run(self, stage: Stage, version: str, run: str = "", work: Work = upper) -> dict[str, str]:
        """One run, as Argo makes it: the files of its version."""
        self.runs += 1
        run = run or f"words-{self.runs}"
        todo = plan.plan(stage, run, {each.name: version for each in stage.inputs})
        self.worked = len(todo)
        for each in todo:
            self.pod(stage, run, each, work)
        self.counts = commit(stage, run).counts
        plan.finish(stage, run)
        return self.files()

    def pod(self, stage: Stage, run: str, item: Mapping[str, str], work: Work = upper) -> None:
        out = self.root / f"out-{random.random()}"
        out.mkdir()
        try:
            work({each.name: self.root / item[f"in-{each.name}"] for each in stage.inputs}, out)
        except ValueError:
            return
        keep(stage, run, int(item["item"]), out, next(self.ran))

    def files(self) -> dict[str, str]:
        folder = self.made.open()
        return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
