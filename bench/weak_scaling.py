"""Weak scaling: two workers with a core each, compared with one worker on one core and half the global batch."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from bench import rate
from bench.by_hand import free_ports
from bench.figure import Figure, Measured
from embedded.fault import Fault
from embedded.paths import PROJECT

_PAIRS = 7
_LIMIT_SECONDS = 300


def _measure() -> Measured:
    pairs = [(_rate(2), _rate(1)) for _ in range(_PAIRS)]
    found = rate.paired(pairs)
    two, one = (statistics.median(each) for each in zip(*pairs, strict=True))
    return Measured(
        found.median,
        f"a dense network with 6.6 MB of gradients: two workers {two:.2f} steps/s, one {one:.2f} "
        f"({1000 / one:.0f} ms a step); 95 % interval {found.low:.3f} to {found.high:.3f}",
    )


def _rate(workers: int) -> float:
    """Steps per second of workers on a core each."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < workers:
        raise Fault(f"weak scaling: this process may use {len(cores)} cores, and {workers} workers need one each")
    addresses = [f"127.0.0.1:{port}" for port in free_ports(workers)]
    processes = [_worker(addresses, index, cores[index]) for index in range(workers)]
    try:
        said = processes[0].communicate(timeout=_LIMIT_SECONDS)[0]
        for process in processes[1:]:
            process.wait(_LIMIT_SECONDS)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    rates = [line.split()[1] for line in said.splitlines() if line.startswith("rate ")]
    if not rates:
        raise Fault(f"weak scaling: {workers} workers ended without a rate; their errors are above")
    return float(rates[0])


def _worker(addresses: list[str], index: int, core: int) -> subprocess.Popen[str]:
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "runtime"), "TF_CPP_MIN_LOG_LEVEL": "2"}
    if len(addresses) > 1:
        environment["TF_CONFIG"] = json.dumps(config)
    return subprocess.Popen(
        ["taskset", "--cpu-list", str(core), sys.executable, str(PROJECT / "bench/scaling_program.py")],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


FIGURES = (Figure("weak-scaling", ">= 0.90", "x", _measure),)
