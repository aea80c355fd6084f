"""How long `tensorplane check` takes: a whole process, from nothing to its answer."""

from __future__ import annotations

import subprocess
import sys
import time

from bench.figure import Figure, Measured
from embedded.paths import PROJECT

_STACKS = ("dev", "prod")
_RUNS = 5


def _seconds(stack: str) -> float:
    begun = time.perf_counter()
    argv = [sys.executable, "-m", "cli", "check", "--stack", stack]
    subprocess.run(argv, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _check() -> Measured:
    """The slower of the two stacks, each by the best of its runs."""
    seconds = {stack: min(_seconds(stack) for _ in range(_RUNS)) for stack in _STACKS}
    peer = ", ".join(f"{stack}: {seconds[stack]:.2f} s" for stack in _STACKS)
    return Measured(max(seconds.values()), f"{peer} (best of {_RUNS})")


FIGURES = (Figure("check", "<= 1.0", "s", _check),)
