"""One sweep: compares its study with the cluster, and does what is due."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agents.sweep import reports
from agents.sweep.asha import Asha, Report
from agents.sweep.decide import Action, Ask, Create, Job, Limits, State, Stop, Tell, Trial, best_of, due
from agents.sweep.spec import RUN, placeholder, trial_run
from agents.sweep.study import Study, Value


class Jobs(Protocol):
    """The JobSets of the trials."""

    def jobs(self) -> dict[str, Job]:
        """The state of each, by name."""

    def create(self, job_set: Mapping[str, Any]) -> None:
        """Create one, if it does not exist."""

    def delete(self, name: str) -> None:
        """Delete one, if it exists."""


@dataclass(frozen=True)
class Sweep:
    """What the controller is to do, as the platform wrote it."""

    name: str
    """Of this run of the sweep; the trials' JobSets are NAME-t0000, NAME-t0001 and so on."""
    search: Mapping[str, Any]
    job_set: str
    """The trials' JobSet as JSON, with placeholders for the run's name and the parameters."""
    logs: Path
    """The folder on the volume with a folder of logs for each run."""
    ends: bool = False
    """Whether the controller ends with its last trial. A Deployment would start it again, a JobSet has finished."""

    @classmethod
    def read(cls, text: str) -> Sweep:
        """The sweep in a ConfigMap's text."""
        found = json.loads(text)
        job_set, logs = json.dumps(found["jobSet"]), Path(found["logs"])
        return cls(found["name"], found["search"], job_set, logs, found.get("ends", False))

    @property
    def limits(self) -> Limits:
        pruner = self.search["pruner"]
        return Limits(
            trials=self.search["trials"],
            parallel=self.search["parallel"],
            minimize=self.search["direction"] == "minimize",
            pruner=Asha(pruner["minSteps"], pruner["reduction"]) if pruner else None,
        )

    def run(self, number: int) -> str:
        """Name of a trial's JobSet."""
        return trial_run(self.name, number)

    def manifest(self, number: int, parameters: Mapping[str, Value]) -> dict[str, Any]:
        """A trial's JobSet."""
        text = self.job_set.replace(RUN, self.run(number))
        for name, value in parameters.items():
            text = text.replace(json.dumps(placeholder(name)), json.dumps(_text(value)))
        made: dict[str, Any] = json.loads(text)
        return made


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass
class Controller:
    """Does what is due. It may be killed at any point: the next one finds everything in the study and the cluster."""

    sweep: Sweep
    study: Study
    cluster: Jobs
    between: Callable[[Action], None] = lambda action: None
    """Called before each action."""
    _final: dict[int, list[Report]] = field(default_factory=dict)
    """Reports of trials that have ended."""

    def step(self, trials: Sequence[Trial]) -> bool:
        """Do what these trials need. Returns whether something was done, after which more may be due at once."""
        actions = due(trials, self.sweep.limits)
        refused: OSError | None = None
        for action in actions:
            self.between(action)
            try:
                self._do(action)
            except OSError as error:
                # One that the cluster refuses must not keep the others from being done.
                refused = refused or error
        if refused:
            raise refused
        return any(not isinstance(action, Stop) for action in actions)

    def trials(self) -> list[Trial]:
        """Each trial as the study, the cluster and the logs have it."""
        states = self.study.states()
        jobs = self.cluster.jobs() if State.OPEN in states else {}
        return [self._trial(number, state, jobs) for number, state in enumerate(states)]

    def results(self, trials: Sequence[Trial]) -> dict[str, Any]:
        """These trials and how they ended, for people."""
        search = self.sweep.search
        rows = [self._row(number, trial) for number, trial in enumerate(trials)]
        finished = len(rows) == search["trials"] and all(trial.state is not State.OPEN for trial in trials)
        return {
            "run": self.sweep.name,
            "metric": search["metric"],
            "direction": search["direction"],
            "planned": search["trials"],
            "finished": finished,
            "trials": rows,
        }

    def _trial(self, number: int, state: State, jobs: Mapping[str, Job]) -> Trial:
        run = self.sweep.run(number)
        # The state of the JobSet is read before the reports, so that those of an ended one are complete.
        job = jobs.get(run, Job.ABSENT)
        if job is Job.ACTIVE and state is State.OPEN and reports.succeeded(self.sweep.logs / run):
            # Kubernetes takes two seconds more until the JobSet is completed; the next trial can be queued meanwhile.
            job = Job.SUCCEEDED
        if number not in self._final:
            found = reports.of_trial(self.sweep.logs / run, self.sweep.search["metric"])
            if state is State.OPEN:
                return Trial(state, job, found)
            self._final[number] = found
        return Trial(state, job, self._final[number])

    def _do(self, action: Action) -> None:
        match action:
            case Ask():
                self.study.add()
            case Create(number):
                self.cluster.create(self.sweep.manifest(number, self.study.parameters(number)))
            case Stop(number):
                self.cluster.delete(self.sweep.run(number))
            case Tell(number, state, best):
                self.study.tell(number, state, best)

    def _row(self, number: int, trial: Trial) -> dict[str, Any]:
        ended = trial.state is not State.OPEN
        best = self.study.best(number) if ended else best_of(trial.reports, minimize=self.sweep.limits.minimize)
        return {
            "trial": number,
            "run": self.sweep.run(number),
            "state": trial.state.value,
            "parameters": self.study.parameters(number),
            "best": best and best.value,
            "bestStep": best and best.step,
            "steps": max((report.step for report in trial.reports), default=None),
        }
