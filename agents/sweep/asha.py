"""Asynchronous successive halving (ASHA) whose decisions depend on the trials' reports and not on their timing.

A trial that reaches a rung is compared with the trials of lower numbers that reached it, and goes on if it is among the
best 1/reduction of them. While a lower one may still reach the rung, the decision waits and the trial trains on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """The metric after a step."""

    step: int
    value: float


@dataclass(frozen=True)
class Asha:
    """The rungs: `min_steps`, and each `reduction` times the one before."""

    min_steps: int
    reduction: int

    def rung(self, index: int) -> int:
        """Steps at which the trials of a rung are compared."""
        return self.min_steps * int(self.reduction**index)


@dataclass(frozen=True)
class Curve:
    """A trial so far. `ended`: it will not report more."""

    reports: Sequence[Report]
    ended: bool


@dataclass(frozen=True)
class TrialDecision:
    """What is decided about a trial."""

    pruned_at: Report | None = None
    """The report at the rung that it did not pass."""
    settled: bool = True
    """Whether all decisions about its reports so far are made."""


@dataclass(frozen=True)
class _Standing:
    """The values at the rungs that a trial took part in, and whether there may be more."""

    values: Sequence[float]
    open: bool


def decisions(curves: Sequence[Curve], asha: Asha | None, *, minimize: bool) -> list[TrialDecision]:
    """The decisions about trials, in the order of their numbers."""
    if asha is None:
        return [TrialDecision() for _ in curves]
    found: list[TrialDecision] = []
    before: list[_Standing] = []
    for curve in curves:
        decision, standing = _climb(curve, before, asha, 1 if minimize else -1)
        found.append(decision)
        before.append(standing)
    return found


def _climb(curve: Curve, before: Sequence[_Standing], asha: Asha, sign: int) -> tuple[TrialDecision, _Standing]:
    """One trial's way over the rungs, against the trials before it."""
    values: list[float] = []
    for index in itertools.count():
        # The first report, also after a restart repeats the steps: a decision is never revised.
        report = next((each for each in curve.reports if each.step >= asha.rung(index)), None)
        if report is None:
            return TrialDecision(settled=curve.ended), _Standing(values, open=not curve.ended)
        value = sign * report.value if math.isfinite(report.value) else math.inf
        others = [each.values[index] for each in before if len(each.values) > index]
        waits = any(each.open and len(each.values) <= index for each in before)
        values.append(value)
        if waits and value < math.inf:
            return TrialDecision(settled=False), _Standing(values, open=True)
        if not _passes(value, others, asha.reduction):
            return TrialDecision(pruned_at=report), _Standing(values, open=False)
    raise AssertionError("unreachable")


def _passes(value: float, others: Sequence[float], reduction: int) -> bool:
    """Whether the value is among the best 1/reduction of all, at least one. Of equal ones the lower number is better;
    one that is not finite never passes."""
    promotions = max(1, (len(others) + 1) // reduction)
    return value < math.inf and sum(other <= value for other in others) < promotions
