"""Notices a loss that stays the same to the last bit, for as long as `progressDeadlineSeconds` in the settings.

Such a run computes, and learns nothing: its loss is NaN, or no gradient reaches a weight.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping

from tensorplane import first_step
from tensorplane.progress_deadline import SECONDS

_LEAST_REPORTS = 10
"""A few reports may agree because the program reports seldom, or after a pause."""


class SameLoss:
    """The loss of one process."""

    def __init__(
        self, environment: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._clock = float(environment.get(SECONDS, "inf")), clock
        self._loss: str | None = None
        self._reports, self._since = 0, clock()

    def lasts(self, loss: float) -> bool:
        """Whether the loss has been this one for too long. NaN is the same as NaN."""
        # Numbers with a sign: -0.0 is another one than 0.0.
        text = "nan" if math.isnan(loss) else float(loss).hex()
        if text != self._loss:
            self._loss, self._reports, self._since = text, 0, self._clock()
        self._reports += 1
        return self._reports >= _LEAST_REPORTS and self._clock() - self._since >= self._seconds

    def end(self, step: int, loss: float) -> None:
        """End the process with the stacks of its threads, for the launcher to see why (`progress_deadline.py`)."""
        line = f"tensorplane: loss={loss:.6f} has not changed for {self._seconds:g} s; the pod ends"
        print(line, file=sys.stderr, flush=True)
        sys.stdout.flush()
        first_step.same_loss(step)
        os.abort()
