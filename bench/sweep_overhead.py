"""What a sweep adds to each trial: the time between the end of one trial's code and the start of the next one's."""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import instance, waiting
from bench.figure import Figure, Measured
from tensorplane import images
from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.stack_file import sweep_packages

_TRIALS, _TRIAL_SECONDS = 9, 2
_NAMESPACE = "tensorplane-dev"
_PATIENT_SECONDS = 240.0
_PAUSE_SECONDS = 3.0
_LOG_PREFIX = "code ran:"
_PROGRAM = f"""
import time
began = time.time()
time.sleep({_TRIAL_SECONDS})
print("tensorplane: step=1 loss=0.5 steps_per_second=1.0", flush=True)
print("{_LOG_PREFIX}", began, time.time(), flush=True)
"""
_SETTINGS: dict[str, Any] = {
    "queues": {"small": {"priority": "low", "cpus": 0.5, "memoryGib": 1}},
    "volumes": {"work": {"sizeGib": 1, "accessModes": ["ReadWriteMany"], "retain": False}},
    "workloads": {
        "search": {
            "kind": "sweep",
            "search": {
                "sampler": "grid",
                "parameters": {"NUMBER": {"choices": list(range(_TRIALS))}},
                "trials": _TRIALS,
                "parallel": 1,
            },
            "trial": {
                "strategy": {"kind": "single"},
                "command": ["python3", "-c", _PROGRAM],
                "resources": {"cpus": 0.2, "memoryGib": 0.25},
                "volumes": {"work": "/work"},
                "checkpoints": {"volume": "work"},
                "queue": "small",
            },
        }
    },
}


def gaps(ran: Sequence[tuple[float, float]]) -> list[float]:
    """Seconds between the end of one trial and the start of the next; `ran`: when each began and ended."""
    in_order = sorted(ran)
    return [after[0] - before[1] for before, after in itertools.pairwise(in_order)]


def _overhead() -> Measured:
    step, lines = Step("image of the controller"), sweep_packages.lines()
    for task in images.tasks(packages=[lines]):
        if task.name.startswith("image packages"):
            task.run(step)
    with instance.running() as bench, tempfile.TemporaryDirectory(prefix="bench-sweep-") as folder:
        cluster.load_images(instance.BENCH, step, packages=[lines])
        instance.settle(_PAUSE_SECONDS)
        bench.deploy_with(
            json.dumps({"config": {f"tensorplane:{key}": value for key, value in _SETTINGS.items()}}), Path(folder)
        )
        waiting.until(
            lambda: len(_ran(bench.kube)) == _TRIALS,
            _PATIENT_SECONDS,
            lambda: f"sweep: {len(_ran(bench.kube))} of {_TRIALS} trials ended",
        )
        found = gaps(_ran(bench.kube))
    about = f"{_TRIALS} trials one after the other, {min(found):.1f} to {max(found):.1f} s"
    return Measured(statistics.median(found), about)


def _ran(kube: Kube) -> list[tuple[float, float]]:
    """When the code of each trial began and ended, as it says."""
    at = f"/api/v1/namespaces/{_NAMESPACE}/pods"
    pods = kube.items(at, labelSelector="jobset.sigs.k8s.io/jobset-name", fieldSelector="status.phase=Succeeded")
    logs = [kube.text(f"{at}/{pod['metadata']['name']}/log") for pod in pods]
    marks = [
        line.removeprefix(_LOG_PREFIX).split()
        for log in logs
        for line in log.splitlines()
        if line.startswith(_LOG_PREFIX)
    ]
    return [(float(began), float(ended)) for began, ended in marks]


FIGURES = (Figure("sweep-overhead", "<= 3", "s", _overhead),)
