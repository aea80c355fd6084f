"""Processes of one TensorFlow cluster on this machine, for figures that need no Kubernetes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from bench.by_hand import Line, free_ports
from embedded.fault import Fault
from embedded.paths import PROJECT

_LIMIT_SECONDS = 300


def lines_of_first(program: str, words: tuple[str, ...], tasks: Mapping[str, int]) -> list[Line]:
    """The lines of the first task, with their times. The cluster ends when the tasks of its kind have ended.

    `program`: a file of `bench`, which gets `words`. `tasks`: number of processes of each kind.
    """
    cluster = {kind: [f"127.0.0.1:{port}" for port in free_ports(count)] for kind, count in tasks.items()}
    awaited = next(iter(tasks))
    processes = {
        (kind, index): _start(program, words, cluster, kind, index)
        for kind, count in tasks.items()
        for index in range(count)
    }
    first = processes[awaited, 0]
    try:
        lines = [(time.monotonic(), line) for line in first.stdout or ()]
        codes = [each.wait(_LIMIT_SECONDS) for (kind, _), each in processes.items() if kind == awaited]
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    if any(codes):
        raise Fault(f"{program} {' '.join(words)}: its processes ended with {codes}; their errors are above")
    return lines


def _start(
    program: str, words: tuple[str, ...], cluster: Mapping[str, list[str]], kind: str, index: int
) -> subprocess.Popen[str]:
    config = {"cluster": cluster, "task": {"type": kind, "index": index}}
    settings = {"PYTHONPATH": str(PROJECT / "runtime"), "TF_CPP_MIN_LOG_LEVEL": "2", "TF_CONFIG": json.dumps(config)}
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name(program)), *words],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE if (kind, index) == (next(iter(cluster)), 0) else subprocess.DEVNULL,
        text=True,
    )
