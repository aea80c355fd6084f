"""Datasets on this machine and a pipeline's objects in a simulated cluster, in which a controller may be killed at any
write: before it, or after it and before its answer."""

from __future__ import annotations

import io
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorplane.agents.triggers.controller import Controller
from tensorplane.agents.triggers.spec import TriggerSpec
from tensorplane.agents.triggers.state import TriggerDecision, TriggerState
from tensorplane.datasets import Commit, Dataset, Note

PIPELINE = "digits"
_HALF = 0.5


class KilledError(Exception):
    """The controller's process is gone."""


@dataclass
class World:
    """One pipeline with its datasets."""

    folder: Path
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    kill_chance: float = 0.0
    sources: tuple[str, ...] = ("raw",)
    outputs: tuple[str, ...] = ("made", "report")
    digest: str = "1"
    """Of what decides the results of the pipeline's stages."""
    clock: float = 10_000.0
    runs: dict[str, bool] = field(default_factory=dict)
    """Each run, and whether it has ended."""
    manifests: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    events: dict[int, TriggerDecision] = field(default_factory=dict)
    logged: list[str] = field(default_factory=list)
    text: str = ""
    """The state."""
    most_at_once: int = 0
    questions: int = 0
    """How often a controller asked for runs."""
    _version: int = 0
    _commits: int = 0

    def dataset(self, name: str = "raw") -> Dataset:
        """A dataset of the pipeline."""
        return Dataset(self.folder / name)

    def commit(self, name: str = "raw", *, files: int = 1, size: int = 1, **provenance: Any) -> Commit:
        """Commit new files to a dataset."""
        dataset, self._commits = self.dataset(name), self._commits + 1
        content = io.BytesIO(f"{self._commits}".encode().ljust(size))
        kept = dataset.keep(content)
        changes = {f"{self._commits}/{number}": kept for number in range(files)}
        return dataset.put(changes, note=Note(f"number {self._commits}", provenance=provenance))

    def end_runs(self) -> None:
        """All runs end, one after the other, with a version of each output."""
        for run in self.list_unfinished():
            for name in self.outputs:
                self.commit(name, run=run)
            self.runs[run] = True

    def maker(self, output: str = "made") -> str:
        """The run that made the newest version of an output."""
        return str(self.dataset(output).resolve().provenance.get("run", ""))

    def controller(self, **triggers: Mapping[str, Any]) -> Controller:
        """A new controller. Its triggers are as the platform describes them, with defaults."""
        defaults = {"sources": [*self.sources], "quietSeconds": 0, "longestSeconds": 0}
        described = {
            "pipeline": PIPELINE,
            "sources": {name: {"root": str(self.folder / name), "branch": "main"} for name in self.sources},
            "outputs": {name: str(self.folder / name) for name in self.outputs},
            "triggers": {name: {**defaults, **one} for name, one in triggers.items()},
        }
        spec = TriggerSpec.read(described)
        return Controller(spec, self, log=self.logged.append, clock=lambda: self.clock, now=lambda: self.clock)

    def begun(self) -> list[dict[str, str]]:
        """The commits that each run began with, in the order in which they were created."""
        found = [one["spec"]["arguments"]["parameters"] for one in self.manifests.values()]
        return [{each["name"]: each["value"] for each in one} for one in found]

    def files_of_runs(self) -> list[int]:
        """How many files the version of each run has."""
        return [self.dataset().resolve(each["raw"]).files for each in self.begun()]

    def read_state(self) -> TriggerState:
        """The state."""
        self._read = self._version
        return TriggerState.from_json(self.text)

    def write_state(self, state: TriggerState) -> None:
        """Write the state, unless another controller has written it since."""
        self._may_die()
        if self._read != self._version:
            raise OSError("HTTP 409")
        self.text, self._version = state.to_json(), self._version + 1
        self._read = self._version
        self._may_die()

    def find_template(self) -> Mapping[str, Any]:
        """The pipeline as deployed."""
        return {
            "metadata": {
                "name": PIPELINE,
                "namespace": "vision",
                "labels": {"app.kubernetes.io/name": PIPELINE},
                "annotations": {"tensorplane.dev/pipeline": self.digest},
            },
            "spec": {"arguments": {"parameters": [{"name": name} for name in self.sources]}},
        }

    def has_run(self, run: str) -> bool:
        """Whether a run exists."""
        self.questions += 1
        return run in self.runs

    def list_unfinished(self) -> list[str]:
        """Runs that have not ended."""
        self.questions += 1
        return [name for name, ended in self.runs.items() if not ended]

    def create(self, workflow: Mapping[str, Any]) -> None:
        """Create a run unless it exists."""
        self._may_die()
        name = workflow["metadata"]["name"]
        if name not in self.runs:
            self.runs[name], self.manifests[name] = False, workflow
            self.most_at_once = max(self.most_at_once, len(self.list_unfinished()))
        self._may_die()

    def create_event(self, decision: TriggerDecision) -> None:
        """An Event."""
        self._may_die()
        assert self.events.setdefault(decision.number, decision) == decision

    def _may_die(self) -> None:
        if self.chance.random() < self.kill_chance * _HALF:
            raise KilledError


def settle(world: World, steps: int = 12, **triggers: Mapping[str, Any]) -> None:
    """Let a controller look so often, a second apart, and start it again where it is killed."""
    controller = world.controller(**triggers)
    for _ in range(steps):
        try:
            controller.reconcile()
        except KilledError:
            controller = world.controller(**triggers)
        world.clock += 1
