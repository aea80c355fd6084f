"""The memory of the idle cluster: each process's proportional share, so that shared pages count once."""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench import instance
from bench.figure import Figure, Measured
from tensorplane.core.kube import Kube
from tensorplane.embedded.cluster import processes

_IDLE_SECONDS = 60
_SAMPLES, _BETWEEN_SECONDS = 5, 10
_MOST_NAMED = 8
_POD = re.compile(r"/pod([0-9a-f-]{36})")

Shares = Mapping[str, int]


def by_name(pids: Iterable[int], pods: Mapping[str, str], left_out: str) -> Shares:
    """Bytes per program, or per pod if `pods` has its name by uid; those in `left_out` do not count."""
    total: Counter[str] = Counter()
    for pid in pids:
        try:
            name = _name(Path(f"/proc/{pid}"), pods)
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:  # it just ended
            continue
        if name != left_out:
            total[name] += proportional_share(rollup)
    return total


def proportional_share(rollup: str) -> int:
    """Bytes, from the kernel's smaps_rollup."""
    line = next(line for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) * 1024


def _name(process: Path, pods: Mapping[str, str]) -> str:
    found = _POD.search((process / "cgroup").read_text())
    return pods.get(found.group(1), "other pods") if found else (process / "comm").read_text().strip()


_WORKLOAD = "workload"


def _pods(api: Kube, namespace: str) -> dict[str, str]:
    """A name for each pod's uid: its controller's, or `workload` for those of the stack's own namespace."""
    names = {}
    for pod in api.items("/api/v1/pods"):
        about = pod["metadata"]
        controller = about["name"].rsplit("-", 2)[0]
        names[about["uid"]] = _WORKLOAD if about["namespace"] == namespace else controller
    return names


def _idle() -> Measured:
    with instance.running() as bench:
        outputs = bench.deploy()
        instance.settle(_IDLE_SECONDS)
        samples = []
        for _ in range(_SAMPLES):
            pods = _pods(bench.kube, outputs.namespace)
            samples.append(by_name(processes.members(instance.BENCH), pods, _WORKLOAD))
            time.sleep(_BETWEEN_SECONDS)
    return Measured(statistics.median(sum(one.values()) for one in samples) / 2**30, describe(samples[-1]))


def describe(shares: Shares) -> str:
    """The largest ones, in MiB."""
    largest = sorted(shares.items(), key=lambda item: -item[1])
    rest = sum(size for _, size in largest[_MOST_NAMED:])
    shown = [*largest[:_MOST_NAMED], ("others", rest)] if rest else largest
    return "MiB: " + ", ".join(f"{name} {size / 2**20:.0f}" for name, size in shown)


FIGURES = (Figure("idle-memory", "<= 1.2", "GiB", _idle),)
