"""Steps per second from a training log, and the ratio of several pairs of them."""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tensorplane.core.errors import UserError

_STEP = re.compile(r"tensorplane: step=(\d+) loss=")
_RESAMPLES = 10_000
T = TypeVar("T")


def steps_per_second(lines: Iterable[tuple[float, str]], warm_up: int) -> float:
    """The rate after the first `warm_up` steps, including checkpoints; lines have their times."""
    reached = [(at, int(found.group(1))) for at, line in lines if (found := _STEP.search(line))]
    steady = [(at, step) for at, step in reached if step >= warm_up]
    if len(steady) < 2:
        raise UserError(
            f"the training log has {len(steady)} lines after step {warm_up}, so there is no rate to measure"
        )
    (began, first), (ended, last) = steady[0], steady[-1]
    return (last - first) / (ended - began)


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios with its 95 % confidence interval, and the medians of both sides."""

    median: float
    low: float
    high: float
    first: float
    second: float

    @property
    def interval(self) -> str:
        """The interval in words."""
        return f"95 % interval {self.low:.3f} to {self.high:.3f}"


def in_pairs(count: int, ours: Callable[[], T], theirs: Callable[[], T]) -> list[tuple[T, T]]:
    """Measures both `count` times, in turns the one and the other first: the machine's speed drifts."""
    pairs = []
    for number in range(count):
        if number % 2:
            other = theirs()
            pairs.append((ours(), other))
        else:
            pairs.append((ours(), theirs()))
    return pairs


def paired(pairs: Sequence[tuple[float, float]], seed: int = 1) -> Ratio:
    """Ratio of each pair's first to its second, with a bootstrap interval."""
    ratios = [first / second for first, second in pairs]
    chance = random.Random(seed)  # noqa: S311  # no secret
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    low, high = medians[round(0.025 * _RESAMPLES)], medians[round(0.975 * _RESAMPLES) - 1]
    first, second = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Ratio(statistics.median(ratios), low, high, first, second)
