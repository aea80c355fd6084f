"""How long `tensorplane check` takes: a whole process, from nothing to its answer."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from bench.figure import Figure, Measured
from tensorplane.core.paths import PROJECT

_STACKS = ("dev", "prod")
_RUNS = 5


def _seconds(stack: str, compiled: str) -> float:
    # Modules are compiled once, as on a user's machine, wherever the benchmark's own environment forbids that.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begun = time.perf_counter()
    argv = [sys.executable, "-m", "tensorplane.cli", "check", "--stack", stack]
    subprocess.run(argv, cwd=PROJECT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _check() -> Measured:
    """The slower of the two stacks, each by the best of its runs."""
    with tempfile.TemporaryDirectory() as compiled:
        seconds = {stack: min(_seconds(stack, compiled) for _ in range(_RUNS)) for stack in _STACKS}
    peer = ", ".join(f"{stack}: {seconds[stack]:.2f} s" for stack in _STACKS)
    return Measured(max(seconds.values()), f"{peer} (best of {_RUNS})")


FIGURES = (Figure("check", "<= 1.0", "s", _check),)
