"""A cluster for a sweep's controller: JobSets that train at random speeds, write logs, and end; pods that end late."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorplane.agents.sweep.controller import Controller
from tensorplane.agents.sweep.decide import Action, Job
from tensorplane.agents.sweep.journal import Journal
from tensorplane.agents.sweep.spec import RUN, SweepSpec, placeholder
from tensorplane.agents.sweep.study import Study

STEPS = 27
FAILS = 4
"""Every trial with this remainder by 7 fails at its second step."""


class KilledError(Exception):
    """The controller was killed."""


def sweep(folder: Path, **changed: Any) -> SweepSpec:
    """A sweep over one continuous and one discrete parameter."""
    search = {
        "parameters": {"RATE": {"low": 1e-4, "high": 0.1, "log": True}, "LAYERS": {"low": 1, "high": 4, "step": 1}},
        "sampler": "random",
        "seed": 7,
        "trials": 12,
        "parallel": 3,
        "metric": "loss",
        "direction": "minimize",
        "pruner": {"kind": "asha", "minSteps": 3, "reduction": 3},
        **changed,
    }
    variables = [{"name": name, "value": placeholder(name)} for name in search["parameters"]]
    return SweepSpec("digits-1a", search, json.dumps({"metadata": {"name": RUN}, "env": variables}), folder / "logs")


@dataclass
class World:
    """The JobSets of one sweep."""

    logs: Path
    chance: random.Random
    jobs_now: dict[str, Job] = field(default_factory=dict)
    created: Counter[str] = field(default_factory=Counter)
    most_active: int = 0
    _env: dict[str, dict[str, str]] = field(default_factory=dict)
    _steps: Counter[str] = field(default_factory=Counter)
    _leaving: set[str] = field(default_factory=set)
    _ending: set[str] = field(default_factory=set)
    """JobSets of runs that have succeeded, before Kubernetes has noticed."""

    def list_jobs(self) -> dict[str, Job]:
        return dict(self.jobs_now)

    def create(self, job_set: Mapping[str, Any]) -> None:
        name = job_set["metadata"]["name"]
        if name not in self.jobs_now:
            self.created[name] += 1
            self.jobs_now[name] = Job.ACTIVE
            self._env[name] = {each["name"]: each["value"] for each in job_set["env"]}
        active = {name for name, job in self.jobs_now.items() if job is Job.ACTIVE}
        self.most_active = max(self.most_active, len(active - self._ending))

    def delete(self, name: str) -> None:
        self._leaving.add(name)

    def pass_time(self) -> None:
        """Each JobSet makes no, one or several steps; one that is deleted may be gone, one that has ended completed."""
        for name, job in list(self.jobs_now.items()):
            if name in self._leaving and self.chance.random() < 0.3:
                del self.jobs_now[name]
            elif name in self._ending:
                if self.chance.random() < 0.3:
                    self.jobs_now[name] = Job.SUCCEEDED
            elif job is Job.ACTIVE:
                for _ in range(self.chance.choice((0, 1, 1, 5))):
                    self._train(name)

    def _train(self, name: str) -> None:
        number = int(name[-4:])
        if self.jobs_now[name] is not Job.ACTIVE or name in self._ending:
            return
        self._steps[name] += 1
        step, env = self._steps[name], self._env[name]
        # Curves cross: a better end begins worse.
        loss = abs(math.log10(float(env["RATE"])) + 2.5) * (1 - 1 / step) + int(env["LAYERS"]) / step
        folder = self.logs / name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "worker-0.1.log").open("a") as log:
            log.write(f"epoch {step}\ntensorplane: step={step} loss={loss:.6f} steps_per_second=1.0\n")
        if number % 7 == FAILS and step == 2:
            self.jobs_now[name] = Job.FAILED
        elif step == STEPS:
            with (folder / "worker-0.1.log").open("a") as log:
                log.write("tensorplane: succeeded\n")
            self._ending.add(name)


def finish(spec: SweepSpec, folder: Path, timing: int, kill_chance: float) -> tuple[dict[str, Any], World, int]:
    """Run a sweep to its end: its results, its cluster, and how often the controller was killed."""
    chance = random.Random(timing)
    world, kills = World(spec.logs, chance), 0

    def maybe_kill(_: Action) -> None:
        if chance.random() < kill_chance:
            raise KilledError

    for _ in range(2000):
        journal = Journal(folder / "study.journal")
        try:
            study = Study(journal.storage, spec.name, spec.search)
            controller = Controller(spec, study, world, before_action=maybe_kill)
            while not (results := controller.results(trials := controller.observe()))["finished"]:
                controller.reconcile(trials)
                world.pass_time()
            return results, world, kills
        except KilledError:
            kills += 1
    raise AssertionError(f"not finished: {results}")
