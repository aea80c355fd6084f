"""The cost of the typed layer: a stack's start compared with bare imports, its graph with a plain one, many queues."""

from __future__ import annotations

import atexit
import functools
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable

from bench.figure import Figure, Measured
from tensorplane.core.paths import PROJECT

_SIZES = (62, 125, 250, 500)
"""Node groups, each with a workload: 1,000 of both at most."""
_TEAMS = (25, 50, 100, 200)
"""Teams with a queue each, over twenty node groups."""
_RUNS = 3


def _seconds(*arguments: str) -> float:
    """The seconds that a program of `bench.graph_programs` reports.

    Modules are loaded from bytecode, as in every run after the first, even if the environment disables writing it: the
    SDKs have bytecode from their installation, and the project's own modules would be compiled in each run.
    """
    argv = [sys.executable, "-m", "bench.graph_programs", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = _bytecode()
    ended = subprocess.run(argv, cwd=PROJECT, env=environment, check=True, capture_output=True, text=True)
    return float(ended.stdout.split()[-1])


@functools.cache
def _bytecode() -> str:
    """A folder for bytecode that lasts as long as this process."""
    folder = tempfile.mkdtemp(prefix="tensorplane-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _interleaved(one: Callable[[], float], other: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Runs of both, in turn: the machine changes its speed, and neighbours see the same machine."""
    pairs = [(one(), other()) for _ in range(_RUNS)]
    first, second = zip(*pairs, strict=True)
    return list(first), list(second)


def _start() -> Measured:
    """Import, settings and graph of the production stack, over bare imports of Pulumi and the modules that it uses."""
    for way in ("stack", "imports"):
        _seconds(way, "prod")  # compiles the bytecode of the measured runs
    ours, bare = _interleaved(lambda: _seconds("stack", "prod"), lambda: _seconds("imports", "prod"))
    ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
    peer = f"stack {statistics.median(ours):.2f} s, imports {statistics.median(bare):.2f} s (medians of {_RUNS} pairs)"
    return Measured(ratio, peer)


def _exponent() -> Measured:
    """Slope of log(seconds) over log(size), by least squares, over the fastest run of each size."""
    seconds = {size: min(_seconds("ours", str(size)) for _ in range(3)) for size in _SIZES}
    peer = ", ".join(f"{size}: {seconds[size]:.2f} s" for size in _SIZES)
    return Measured(slope(seconds.items()), f"node groups with a workload each: {peer}")


def slope(points: Iterable[tuple[float, float]]) -> float:
    """The exponent of the power law that fits best."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    return statistics.linear_regression([x for x, _ in logs], [y for _, y in logs]).slope


def _against_plain() -> Measured:
    """The graph of 500 node groups and 500 workloads over the same resources registered with the typed SDKs alone."""
    size = str(_SIZES[-1])
    ours, plain = _interleaved(lambda: _seconds("ours", size), lambda: _seconds("plain", size))
    ratio = statistics.median(a / b for a, b in zip(ours, plain, strict=True))
    peer = f"ours {statistics.median(ours):.1f} s, plain {statistics.median(plain):.1f} s for {size} groups and jobs"
    return Measured(ratio, peer)


def _generated() -> Measured:
    """From the settings of 200 teams to their queues, flavors and quotas."""
    seconds = [_seconds("queues", str(_TEAMS[-1])) for _ in range(_RUNS)]
    return Measured(statistics.median(seconds), f"{_TEAMS[-1]} teams x 20 node groups, median of {_RUNS}")


def _teams_exponent() -> Measured:
    """How the graph of a preview grows with the teams, over the fastest run of each size."""
    seconds = {size: min(_seconds("teams", str(size)) for _ in range(_RUNS)) for size in _TEAMS}
    peer = ", ".join(f"{size}: {seconds[size]:.2f} s" for size in _TEAMS)
    return Measured(slope(seconds.items()), f"teams with a queue each: {peer}")


FIGURES = (
    Figure("stack-start", "<= 1.5", "x", _start),
    Figure("graph-exponent", "<= 1.1", "", _exponent),
    Figure("graph-to-plain", "<= 1.5", "x", _against_plain),
    Figure("queues-generated", "<= 2", "s", _generated),
    Figure("queues-exponent", "<= 1.1", "", _teams_exponent),
)
