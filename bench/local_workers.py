"""Processes of one TensorFlow cluster on this machine, for figures that need no Kubernetes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.by_hand import Line, free_ports
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PACKAGE

_LIMIT_SECONDS = 300
MALLOC = {"MALLOC_MMAP_THRESHOLD_": 32 << 20, "MALLOC_TRIM_THRESHOLD_": 64 << 20, "MALLOC_TOP_PAD_": 16 << 20}
"""What the launcher of a job's pod sets for its program."""


def lines_of_first(
    program: str, words: Sequence[str], tasks: Mapping[str, int], *, own_cores: bool = False
) -> list[Line]:
    """The lines of the first task, with their times. The cluster ends when the tasks of its kind have ended.

    `program`: a file of `bench`, which gets `words`. `tasks`: number of processes of each kind. One task alone gets no
    TF_CONFIG. `own_cores`: each process runs on a core of its own.
    """
    cluster = {kind: [f"127.0.0.1:{port}" for port in free_ports(count)] for kind, count in tasks.items()}
    awaited = next(iter(tasks))
    members = [(kind, index) for kind, count in tasks.items() for index in range(count)]
    pinned = _pinned(len(members)) if own_cores else [()] * len(members)
    command = (sys.executable, str(Path(__file__).with_name(program)), *words)
    processes = {
        member: _start((*pin, *command), cluster, *member, heard=member == (awaited, 0))
        for member, pin in zip(members, pinned, strict=True)
    }
    first = processes[awaited, 0]
    limit = threading.Timer(_LIMIT_SECONDS, _kill, [processes.values()])
    limit.start()
    try:
        lines = [(time.monotonic(), line) for line in first.stdout or ()]
        codes = [each.wait() for (kind, _), each in processes.items() if kind == awaited]
    finally:
        limit.cancel()
        _kill(processes.values())
    if any(codes):
        raise UserError(f"{program} {' '.join(words)}: its processes ended with {codes}; their errors are above")
    return lines


def environment() -> dict[str, str]:
    """Of programs that use the library from the checkout."""
    malloc = {name: str(size) for name, size in MALLOC.items()}
    return {
        **os.environ,
        **malloc,
        "PYTHONPATH": f"{PACKAGE / 'archive_root'}:{PACKAGE.parent}",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }


def _kill(processes: Iterable[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
        process.wait()


def _pinned(count: int) -> list[tuple[str, ...]]:
    """What stands before each command."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < count:
        raise UserError(f"this process may use {len(cores)} cores, and {count} workers need one each")
    return [("taskset", "--cpu-list", str(core)) for core in cores[:count]]


def _start(
    command: Sequence[str], cluster: Mapping[str, list[str]], kind: str, index: int, *, heard: bool
) -> subprocess.Popen[str]:
    settings = environment()
    if sum(map(len, cluster.values())) > 1:
        settings["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})
    return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE if heard else subprocess.DEVNULL, text=True)
