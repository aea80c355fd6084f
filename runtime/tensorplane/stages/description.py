"""A stage as the stack describes it to the steps, in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorplane.datasets import Dataset


@dataclass(frozen=True)
class Input:
    """A dataset that the stage reads."""

    name: str
    """Its folder in /in."""
    dataset: str
    root: Path
    """Folder of the dataset in the step's pod."""
    folder: str
    """The same, from the volume's root."""
    by: str = "whole"
    """What its parts are: `whole`, `file` or `directory`."""
    batch: int | None = None
    """Instead: so many files on average."""
    key: str | None = None
    """What its parts are joined by, if the settings state it: a regular expression of their names, whose groups are the
    key."""

    @property
    def is_whole(self) -> bool:
        """Whether it has one part."""
        return self.by == "whole" and self.batch is None

    def open(self) -> Dataset:
        """The dataset."""
        return Dataset(self.root)


@dataclass(frozen=True)
class Stage:
    """A stage of a pipeline."""

    pipeline: str
    name: str
    decisive: Mapping[str, Any]
    """What decides its results besides the input: image, command, parameters, code."""
    inputs: tuple[Input, ...]
    dataset: str
    """Its output."""
    root: Path
    """Folder of the output in the step's pod."""
    folder: str
    """The same, from the volume's root."""
    rules: Mapping[str, Any]
    """What commits to the output need, as `tensorplane.datasets.requests` reads it."""
    others: tuple[str, ...] = ()
    """Folders of other datasets on the output's volume."""
    join: str | None = None
    """How parts of several split inputs come together: `cross` or `name`."""
    cache: bool = True
    reprocess: str = "all"
    """What happens to inputs that a former form of the stage has worked on: `all` or `new`."""
    may_fail: int = 0
    """Parts that may have no result."""
    publish: Mapping[str, Any] | None = None
    """The model server that gets the input as its next version (`publish.py`)."""
    shared_out: bool = False
    """Whether several pods work on an item and write to one folder, on the output's volume."""

    @property
    def resumes(self) -> bool:
        """Whether it is a job with checkpoints: a run that is started again resumes it where the former try ended."""
        return "checkpoints" in self.decisive.get("training", ())

    @classmethod
    def parse(cls, text: str) -> Stage:
        """The stage that a description in JSON is about."""
        found = json.loads(text)
        inputs = tuple(Input(**{**each, "root": Path(each["root"])}) for each in found.pop("inputs"))
        others = tuple(found.pop("others", ()))
        return cls(**{**found, "inputs": inputs, "root": Path(found["root"]), "others": others})

    def output(self) -> Dataset:
        """The dataset that it writes."""
        return Dataset(self.root)

    def on_volume(self, path: str) -> Path:
        """A path from the root of its output's volume."""
        return Path(str(self.root).removesuffix(self.folder)) / path
