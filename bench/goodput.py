"""What a killed worker costs: the time until its gang trains again, and the share of time that comes to use."""

from __future__ import annotations

import os
import random
import statistics
import time
from dataclasses import dataclass
from functools import partial

from bench import endless_gang
from bench.endless_gang import Begun, Gang
from bench.figure import Figure, Measured

MINUTES = float(os.environ.get("TENSORPLANE_GOODPUT_MINUTES", "30"))
"""How long a gang is disturbed."""
_UNDISTURBED_SECONDS = 120.0
_KILLS = 7
_TRAINS_SECONDS = 15.0
"""How long a gang trains between two kills whose cost is measured: it has saved, and the machine is quiet again."""


@dataclass(frozen=True)
class _Restart:
    """Seconds from the kill of a worker to what its gang then did."""

    python: float
    ready: float
    first_step: float

    @classmethod
    def of(cls, killed: float, begun: Begun) -> _Restart:
        return cls(begun.python - killed, begun.ready - killed, begun.first_step - killed)


def _restarted(gang: Gang, worker: int) -> _Restart:
    killed = gang.kill(worker)
    return _Restart.of(killed, gang.wait_for_start(after=killed))


def _kill_to_first_step() -> Measured:
    """In turns the chief and the other worker."""
    restarts = []
    with endless_gang.running(interruption_minutes=1) as gang:
        for number in range(_KILLS):
            time.sleep(_TRAINS_SECONDS)
            restarts.append(_restarted(gang, number % 2))
            print(f"worker {number % 2} killed: first step after {restarts[-1].first_step:.1f} s", flush=True)
    python, ready, first = (
        statistics.median(getattr(each, part) for each in restarts) for part in ("python", "ready", "first_step")
    )
    low, high = (limit(each.first_step for each in restarts) for limit in (min, max))
    return Measured(
        first,
        f"median of {_KILLS} kills, {low:.1f} to {high:.1f} s: old gang gone, new containers started {python:.1f} s, "
        f"TensorFlow imported and connected, checkpoint restored {ready - python:.1f} s, "
        f"first steps {first - ready:.1f} s",
    )


def _goodput(minutes_between: float) -> Measured:
    """Steps that stay, times what a step takes undisturbed, per time."""
    chance = random.Random(1)  # noqa: S311  # no secret
    with endless_gang.running(interruption_minutes=minutes_between) as gang:
        # Tracing and the first saves are behind it.
        time.sleep(_TRAINS_SECONDS)
        rate = _undisturbed(gang)
        began, first = time.time(), _step(gang)
        restarts: list[_Restart] = []
        for number in range(int(MINUTES / minutes_between)):
            time.sleep(max(0.0, began + 60 * minutes_between * number - time.time()))
            restarts.append(_restarted(gang, chance.randint(0, 1)))
        time.sleep(max(0.0, began + 60 * MINUTES - time.time()))
        ended, last = time.time(), _step(gang)
    share = (last - first) / rate / (ended - began)
    return Measured(
        100 * share,
        f"{len(restarts)} kills in {MINUTES:g} minutes; {last - first} steps stay, undisturbed {rate:.0f} steps/s; "
        f"a restart takes {statistics.median(each.first_step for each in restarts):.1f} s",
    )


def _undisturbed(gang: Gang) -> float:
    """Steps per second, saves included."""
    began, first = time.time(), _step(gang)
    time.sleep(_UNDISTURBED_SECONDS)
    return (_step(gang) - first) / (time.time() - began)


def _step(gang: Gang) -> int:
    """The last step of a gang that trains."""
    step = endless_gang.reached(gang.log(), time.time())
    return gang.wait_for_start().step if step is None else step


FIGURES = (
    Figure("kill-to-first-step", "<= 20", "s", _kill_to_first_step),
    Figure("goodput-1-minute", ">= 65", "%", partial(_goodput, 1), by_name=True),
    Figure("goodput-5-minutes", ">= 90", "%", partial(_goodput, 5), by_name=True),
)
