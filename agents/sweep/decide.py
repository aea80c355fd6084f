"""What a sweep's controller does next, from its trials as the study, the cluster and the logs have them. No I/O.

There is no other state: a restarted controller observes the same trials and continues.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import asha
from .asha import Asha, Curve, Report


class Job(enum.Enum):
    """The state of a trial's JobSet."""

    ABSENT = enum.auto()
    ACTIVE = enum.auto()
    """Suspended, running, or being deleted."""
    SUCCEEDED = enum.auto()
    FAILED = enum.auto()


class TrialState(enum.Enum):
    """The state of a trial in the study."""

    OPEN = "open"
    COMPLETE = "complete"
    PRUNED = "pruned"
    FAILED = "failed"


@dataclass(frozen=True)
class Trial:
    """A trial of the study. Its number is its position."""

    state: TrialState
    job: Job
    reports: Sequence[Report]

    @property
    def ended(self) -> bool:
        """Whether it will not report more."""
        return self.state is not TrialState.OPEN or self.job in (Job.SUCCEEDED, Job.FAILED)


@dataclass(frozen=True)
class Limits:
    """The size of a sweep and what decides its trials."""

    trials: int
    parallel: int
    minimize: bool
    pruner: Asha | None


@dataclass(frozen=True)
class Create:
    """Create the trial's JobSet."""

    number: int


@dataclass(frozen=True)
class Stop:
    """Delete the trial's JobSet."""

    number: int


@dataclass(frozen=True)
class Tell:
    """Record how the trial ended."""

    number: int
    state: TrialState
    best: Report | None


@dataclass(frozen=True)
class Ask:
    """Add a trial to the study."""


Action = Create | Stop | Tell | Ask


def describe(action: Action) -> str:
    """An action in a line of the controller's log."""
    match action:
        case Create(number):
            return f"trial {number}: create its job"
        case Stop(number):
            return f"trial {number}: stop its job"
        case Tell(number, state, None):
            return f"trial {number}: {state.value}"
        case Tell(number, state, Report(step, value)):
            return f"trial {number}: {state.value}, best {value:.5g} at step {step}"
    return "add a trial"


def decide(trials: Sequence[Trial], limits: Limits) -> list[Action]:
    """What to do now. Doing only some of it, or some of it twice, is safe."""
    decisions = asha.decisions(
        [Curve(each.reports, each.ended) for each in trials], limits.pruner, minimize=limits.minimize
    )
    found: list[Action] = []
    active = 0
    for number, (trial, decision) in enumerate(zip(trials, decisions, strict=True)):
        if trial.state is not TrialState.OPEN:
            if trial.state is TrialState.PRUNED and trial.job is Job.ACTIVE:
                # A former controller has created it again, late.
                found.append(Stop(number))
            continue
        # Its JobSet counts until it and its pods are gone.
        active += trial.job is Job.ACTIVE
        if decision.pruned_at:
            found.append(Stop(number) if trial.job is Job.ACTIVE else _tell(number, trial, decision.pruned_at, limits))
        elif trial.job is Job.ABSENT:
            active += 1
            found.append(Create(number))
        elif trial.ended and decision.settled:
            found.append(_tell(number, trial, None, limits))
    free = min(limits.parallel - active, limits.trials - len(trials))
    return [*found, *([Ask()] * max(free, 0))]


def _tell(number: int, trial: Trial, pruned_at: Report | None, limits: Limits) -> Tell:
    """How a trial ended. Reports after the rung do not count: their number depends on when the trial stopped."""
    valid = [each for each in trial.reports if pruned_at is None or each.step <= pruned_at.step]
    best = best_of(valid, minimize=limits.minimize)
    if pruned_at:
        return Tell(number, TrialState.PRUNED, best)
    # A trial without a usable report has no value to compare.
    complete = trial.job is Job.SUCCEEDED and best is not None
    return Tell(number, TrialState.COMPLETE if complete else TrialState.FAILED, best)


def best_of(reports: Sequence[Report], *, minimize: bool) -> Report | None:
    """The first report with the best finite value."""
    usable = [each for each in reports if math.isfinite(each.value)]
    return min(usable, key=lambda each: each.value if minimize else -each.value, default=None)
