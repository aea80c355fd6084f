"""What a sweep needs next, from its trials as the study and the cluster have them. It has no state: a controller that
is killed and starts again sees the same trials and continues."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from agents.sweep import asha
from agents.sweep.asha import Asha, Curve, Report


class Job(enum.Enum):
    """The state of a trial's JobSet."""

    ABSENT = enum.auto()
    ACTIVE = enum.auto()
    """Suspended, running, or being deleted."""
    SUCCEEDED = enum.auto()
    FAILED = enum.auto()


class State(enum.Enum):
    """The state of a trial in the study."""

    OPEN = "open"
    COMPLETE = "complete"
    PRUNED = "pruned"
    FAILED = "failed"


@dataclass(frozen=True)
class Trial:
    """A trial of the study. Its number is its position."""

    state: State
    job: Job
    reports: Sequence[Report]

    @property
    def ended(self) -> bool:
        """Whether it will not report more."""
        return self.state is not State.OPEN or self.job in (Job.SUCCEEDED, Job.FAILED)


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
    state: State
    best: Report | None


@dataclass(frozen=True)
class Ask:
    """Add a trial to the study."""


Action = Create | Stop | Tell | Ask


def said(action: Action) -> str:
    """An action as a line of the controller's log."""
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


def due(trials: Sequence[Trial], limits: Limits) -> list[Action]:
    """What to do now. Doing only some of it, or some of it twice, is safe."""
    fates = asha.fates([Curve(each.reports, each.ended) for each in trials], limits.pruner, minimize=limits.minimize)
    found: list[Action] = []
    active = 0
    for number, (trial, fate) in enumerate(zip(trials, fates, strict=True)):
        if trial.state is not State.OPEN:
            if trial.state is State.PRUNED and trial.job is Job.ACTIVE:
                # A former controller has created it late, once more.
                found.append(Stop(number))
            continue
        # Its JobSet counts until it and its pods are gone.
        active += trial.job is Job.ACTIVE
        if fate.pruned_at:
            found.append(Stop(number) if trial.job is Job.ACTIVE else _tell(number, trial, fate.pruned_at, limits))
        elif trial.job is Job.ABSENT:
            active += 1
            found.append(Create(number))
        elif trial.ended and fate.settled:
            found.append(_tell(number, trial, None, limits))
    free = min(limits.parallel - active, limits.trials - len(trials))
    return [*found, *([Ask()] * max(free, 0))]


def _tell(number: int, trial: Trial, pruned_at: Report | None, limits: Limits) -> Tell:
    """Reports after the rung do not count: how many there are depends on when the trial was stopped."""
    counted = [each for each in trial.reports if pruned_at is None or each.step <= pruned_at.step]
    best = best_of(counted, minimize=limits.minimize)
    if pruned_at:
        return Tell(number, State.PRUNED, best)
    # A trial without a usable report has no value to compare.
    complete = trial.job is Job.SUCCEEDED and best is not None
    return Tell(number, State.COMPLETE if complete else State.FAILED, best)


def best_of(reports: Sequence[Report], *, minimize: bool) -> Report | None:
    """The first report with the best finite value."""
    usable = [each for each in reports if math.isfinite(each.value)]
    return min(usable, key=lambda each: each.value if minimize else -each.value, default=None)
