"""How much of a grid's processor time ASHA needs to find what the grid finds, on the handwritten digits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.figure import Figure, Measured
from bench.local_workers import lines_of_first
from tensorplane.agents.sweep.asha import Asha, Curve, Report, decisions

_ASHA = Asha(min_steps=46, reduction=3)
"""The first comparison after two epochs of 23 steps."""
_NOT_FOUND = 1.0
_WORSE = 1.01
"""As much worse may be what ASHA finds."""


@dataclass(frozen=True)
class Trained:
    """One trial, trained to its end."""

    reports: Sequence[Report]
    seconds: Mapping[int, float]
    """Processor time until each report's step."""

    def until(self, report: Report | None) -> float:
        """Processor time until a report, or until the end."""
        return self.seconds[(report or self.reports[-1]).step]

    @property
    def best(self) -> float:
        """The best value, as a sweep counts it."""
        return min(each.value for each in self.reports)


def trained(lines: Sequence[str]) -> list[Trained]:
    """The trials that the program has printed."""
    reports: defaultdict[int, list[Report]] = defaultdict(list)
    seconds: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for line in lines:
        if line.startswith("report "):
            trial, step, value, so_far = line.split()[1:]
            reports[int(trial)].append(Report(int(step), float(value)))
            seconds[int(trial)][int(step)] = float(so_far)
    return [Trained(reports[trial], seconds[trial]) for trial in sorted(reports)]


def compared(trials: Sequence[Trained], asha: Asha) -> Measured:
    """ASHA's part of the grid's time; all of it if what it finds is worse.

    The decisions are those of a sweep with one trial at a time, so that each stops at the step where it is pruned.
    """
    decided = decisions([Curve(each.reports, ended=True) for each in trials], asha, minimize=True)
    grid = sum(each.until(None) for each in trials)
    used = sum(each.until(decision.pruned_at) for each, decision in zip(trials, decided, strict=True))
    survivors = [each for each, decision in zip(trials, decided, strict=True) if decision.pruned_at is None]
    best, found = min(each.best for each in trials), min(each.best for each in survivors)
    about = (
        f"{used:.0f} : {grid:.0f} s, {len(survivors)} of {len(trials)} trials to the end, loss {found:.4f} : {best:.4f}"
    )
    return Measured(used / grid if found <= _WORSE * best else _NOT_FOUND, about)


def _asha_time() -> Measured:
    return compared(trained([line for _, line in lines_of_first("asha_program.py", (), {"worker": 1})]), _ASHA)


FIGURES = (Figure("asha-time", "<= 0.40", "x", _asha_time),)
