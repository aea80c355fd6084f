"""Reconciles one sweep: observes its study, JobSets and logs, and does what `decide` says.

It may be killed at any point: the next controller finds everything in the study and the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import reports
from .asha import Report
from .decide import Action, Ask, Create, Job, Stop, Tell, Trial, TrialState, best_of, decide
from .spec import SweepSpec
from .study import Study


class Jobs(Protocol):
    """The JobSets of the trials."""

    def list_jobs(self) -> dict[str, Job]:
        """The state of each, by name."""

    def create(self, job_set: Mapping[str, Any]) -> None:
        """Creates one, if it does not exist."""

    def delete(self, name: str) -> None:
        """Deletes one, if it exists."""


@dataclass
class Controller:
    """Reconciles one sweep."""

    spec: SweepSpec
    study: Study
    cluster: Jobs
    before_action: Callable[[Action], None] = lambda action: None
    """Called before each action."""
    _final: dict[int, list[Report]] = field(default_factory=dict)
    """Reports of trials that have ended."""

    def reconcile(self, trials: Sequence[Trial]) -> bool:
        """Does what these trials need. Returns whether more may be needed at once, as something was done."""
        actions = decide(trials, self.spec.limits)
        refused: OSError | None = None
        for action in actions:
            self.before_action(action)
            try:
                self._do(action)
            except OSError as error:
                # One that the cluster refuses must not keep the others from being done.
                refused = refused or error
        if refused:
            raise refused
        return any(not isinstance(action, Stop) for action in actions)

    def observe(self) -> list[Trial]:
        """Each trial, from the study, its JobSet and its logs."""
        states = self.study.list_states()
        jobs = self.cluster.list_jobs() if TrialState.OPEN in states else {}
        return [self._trial(number, state, jobs) for number, state in enumerate(states)]

    def results(self, trials: Sequence[Trial]) -> dict[str, Any]:
        """These trials and how they ended, for people."""
        search = self.spec.search
        rows = [self._row(number, trial) for number, trial in enumerate(trials)]
        finished = len(rows) == search["trials"] and all(trial.state is not TrialState.OPEN for trial in trials)
        return {
            "run": self.spec.name,
            "metric": search["metric"],
            "direction": search["direction"],
            "planned": search["trials"],
            "finished": finished,
            "trials": rows,
        }

    def _trial(self, number: int, state: TrialState, jobs: Mapping[str, Job]) -> Trial:
        run = self.spec.run(number)
        # The state of the JobSet is read before the reports, so that those of an ended one are complete.
        job = jobs.get(run, Job.ABSENT)
        if job is Job.ACTIVE and state is TrialState.OPEN and reports.has_succeeded(self.spec.logs / run):
            # Kubernetes takes two seconds more until the JobSet is completed; the next trial can be queued meanwhile.
            job = Job.SUCCEEDED
        if number not in self._final:
            found = reports.read_trial(self.spec.logs / run, self.spec.search["metric"])
            if state is TrialState.OPEN:
                return Trial(state, job, found)
            self._final[number] = found
        return Trial(state, job, self._final[number])

    def _do(self, action: Action) -> None:
        match action:
            case Ask():
                self.study.add()
            case Create(number):
                self.cluster.create(self.spec.manifest(number, self.study.get_parameters(number)))
            case Stop(number):
                self.cluster.delete(self.spec.run(number))
            case Tell(number, state, best):
                self.study.tell(number, state, best)

    def _row(self, number: int, trial: Trial) -> dict[str, Any]:
        ended = trial.state is not TrialState.OPEN
        best = self.study.get_best(number) if ended else best_of(trial.reports, minimize=self.spec.limits.minimize)
        return {
            "trial": number,
            "run": self.spec.run(number),
            "state": trial.state.value,
            "parameters": self.study.get_parameters(number),
            "best": best and best.value,
            "bestStep": best and best.step,
            "steps": max((report.step for report in trial.reports), default=None),
        }
