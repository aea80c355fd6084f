"""The lines that training prints for people and for other programs: `tensorplane: name=value name=value …`.

The form is logfmt: words separated by one space; a value that is empty or contains spaces, quotes or `=` is a JSON
string. Programs read these lines from a pod's log and rely on these names:

| name | meaning |
|---|---|
| `step`, `steps` | last completed step, and the number of steps of the whole run |
| `loss` | loss of that step |
| `steps_per_second`, `percent`, `eta_seconds` | speed since the last line, part that is done, estimated rest |
| `saved` | step of a checkpoint that is complete |
| `resumed` | step or `True` if the process continues from a checkpoint; `False` if it begins |
| `stopped` | step at which SIGTERM ended the process |
| `version` | number of the published model version |
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable

_PLAIN = re.compile(r'[^\s"=]+')
_WINDOW = 20
"""Number of lines over which the speed for the estimate is averaged: saves and validations are part of it."""


def say(**facts: object) -> None:
    """Prints one line of `name=value` words."""
    print("tensorplane:", *(f"{name}={_word(str(value))}" for name, value in facts.items()), flush=True)


def warn(line: str, *, everywhere: bool = False) -> None:
    """Prints a line to standard error: `key: problem; remedy`. The chief does: all workers would say the same.

    `everywhere`: on each worker that calls it.
    """
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    task, chief = config.get("task", {}), "chief" if "chief" in config.get("cluster", {}) else "worker"
    if everywhere or (task.get("type", chief), int(task.get("index", 0))) == (chief, 0):
        print("tensorplane:", line, file=sys.stderr, flush=True)


def _word(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)


class Pace:
    """Speed and estimated rest of a run, from the times at which steps were reported."""

    def __init__(self, step: int, steps: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        """`step`: completed before the first report. `steps`: of the whole run, None if the data has no known end."""
        self._steps, self._clock = steps, clock
        self._reached = deque([(clock(), step)], maxlen=_WINDOW)
        self._reports = 0

    @property
    def first(self) -> bool:
        """Whether nothing was reported yet."""
        return not self._reports

    @property
    def seconds(self) -> float:
        """Seconds since the last report."""
        return self._clock() - self._reached[-1][0]

    def report(self, step: int) -> dict[str, str]:
        """The facts `steps_per_second`, `percent` and `eta_seconds` after this step."""
        now, (before, last) = self._clock(), self._reached[-1]
        self._reports += 1
        if self._reports == 2:
            # The first steps include tracing and compilation, which do not come again.
            self._reached.popleft()
        self._reached.append((now, step))
        facts = {"steps_per_second": f"{(step - last) / max(now - before, 1e-9):.1f}"}
        if self._steps:
            facts["percent"] = f"{100 * step / self._steps:.1f}"
            facts["eta_seconds"] = str(self._rest(step))
        return facts

    def _rest(self, step: int) -> int:
        (began, first), (ended, last) = self._reached[0], self._reached[-1]
        left = max((self._steps or 0) - step, 0)
        return math.ceil(left * (ended - began) / max(last - first, 1))
