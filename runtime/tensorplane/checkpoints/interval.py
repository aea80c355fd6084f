"""How many steps to train between two checkpoints, from what a save costs and how often training is interrupted.

The interval that loses least time to saves and to repeated steps together is sqrt(2 * save * (between + restart))
seconds (Young, CACM 17 (9), 1974; Daly, FGCS 22 (3), 2006): `save` is the time that one save costs the training,
`between` the mean time between interruptions, and `restart` the time from an interruption to the next step.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

VARIABLE = "CHECKPOINT_INTERRUPTION_MINUTES"
"""Variable with `checkpoints.interruptionMinutes` of the settings; not set with `everySteps`."""
_FIRST_STEPS = 10
"""Before the first save there is nothing to compute with; the step time of these steps is."""
_GROWTH = 8
"""The most by which one interval may differ from the one before: early measurements are few."""
_RECENT = 8
_SEGMENTS = 64


def best_seconds(save: float, between: float, restart: float) -> float:
    """The best time between two saves, never longer than the time between interruptions. All in seconds."""
    return min(math.sqrt(2 * save * (between + restart)), between)


def lost_share(interval: float, save: float, between: float, restart: float) -> float:
    """The share of time lost to saves, repeated steps and restarts if training saves every `interval` seconds.

    Interruptions come at random, at a constant rate (Daly, equation 13). 0.1 means that 100 s of training take 111 s.
    """
    whole = between * math.exp(restart / between) * math.expm1((interval + save) / between)
    return 1 - interval / whole


class MeasuredInterval:
    """The interval in steps, from the times at which steps and saves were seen."""

    def __init__(
        self,
        between: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        restart: Callable[[], float] = lambda: since_start(),
    ) -> None:
        """`between`: mean seconds between interruptions. `restart`: seconds from this process's start to now."""
        self._between, self._clock, self._since_start = between, clock, restart
        self._restart: float | None = None
        self._seen: tuple[int, float] | None = None
        self._clean = deque[float](maxlen=_SEGMENTS)
        self._costs = deque[float](maxlen=_RECENT)
        self._saving: tuple[int, float] | None = None
        self._stall = 0.0
        self._former = _FIRST_STEPS

    def reached(self, step: int, *, writing: bool) -> None:
        """A step was completed. `writing`: a checkpoint is still being written."""
        now = self._clock()
        if self._restart is None:
            self._restart = self._since_start()
        elif self._saving:
            if not writing:
                self._saved(step, now)
        elif self._seen and step > self._seen[0]:
            self._clean.append((now - self._seen[1]) / (step - self._seen[0]))
        self._seen = (step, now)

    def save_begins(self, step: int) -> None:
        """A save of this step begins; its cost is what the steps until it is written take longer than others."""
        self._saving, self._stall = (step, self._clock()), 0.0

    def steps(self) -> int:
        """Steps until the next save, by all measurements so far. Asked when the call that saves has done its part."""
        if not self._clean:
            return self._former
        if self._saving:
            self._stall = self._clock() - self._saving[1]
        cost = statistics.median(self._costs) if self._costs else self._stall
        wanted = best_seconds(max(cost, 1e-6), self._between, self._restart or 0) / self._step_seconds
        self._former = max(1, self._former // _GROWTH, min(round(wanted), self._former * _GROWTH))
        return self._former

    @property
    def _step_seconds(self) -> float:
        # Not the mean, which validation and the tracing of the first steps raise.
        return max(statistics.median(self._clean), 1e-6)

    def _saved(self, step: int, now: float) -> None:
        (before, began), self._saving = self._saving or (step, now), None
        if self._clean and step > before:
            # Steps vary: a save has cost at least the time in which no step ran.
            self._costs.append(max(now - began - (step - before) * self._step_seconds, self._stall))


def since_start() -> float:
    """Seconds since this process started; 0 where the system does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"), 0.0)
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0
