"""The digits job without an end, on the `bench` cluster: its log over all restarts, and the SIGKILL of a worker."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from bench import instance, waiting
from bench.by_hand import Line
from bench.training import stamped
from tensorplane import stack_file
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.core.scratch import scratch
from tensorplane.embedded.cluster import cgroups

_WORKLOADS, _JOB = "tensorplane:workloads", "digits"
_START_SECONDS = 300
_STEP = re.compile(r"tensorplane: step=(\d+) loss=")
_BEGIN = re.compile(r"tensorplane: workers=\d+ step=(\d+) ")


@dataclass(frozen=True)
class Gang:
    """The pods of the job, worker 0 being the chief, which writes the log."""

    kube: Kube
    namespace: str
    job_set: str

    def pod(self, worker: int) -> dict[str, Any] | None:
        """The newest pod of a worker that is not being deleted."""
        labels = f"jobset.sigs.k8s.io/jobset-name={self.job_set},batch.kubernetes.io/job-completion-index={worker}"
        pods = self.kube.items(f"/api/v1/namespaces/{self.namespace}/pods", labelSelector=labels)
        here = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        return max(here, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)

    def log(self) -> list[Line]:
        """Lines of the newest chief, with their times."""
        chief = self.pod(0)
        name = chief["metadata"]["name"] if chief else ""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/log"
        return [stamped(line) for line in self.kube.text(path, timestamps="true").splitlines()] if name else []

    def begun(self) -> Begun | None:
        """The start of the newest gang; None if it has not completed a step yet."""
        return begun(self.log())

    def wait_for_start(self, *, after: float = 0) -> Begun:
        """Waits for a gang whose first step is later than `after`."""
        found: list[Begun] = []

        def new() -> bool:
            start = self.begun()
            if start and start.first_step > after:
                found.append(start)
            return bool(found)

        waiting.until(new, _START_SECONDS, lambda: f"training job {self.job_set}: no new step; {self._state()}")
        return found[0]

    def kill(self, worker: int) -> float:
        """Ends all processes of a worker's container with SIGKILL; when."""
        pod = self.pod(worker)
        if pod is None:
            raise UserError(f"training job {self.job_set}: worker {worker} has no pod to kill")
        (status,) = pod["status"]["containerStatuses"]
        container = status["containerID"].rpartition("/")[2]
        processes = of_container(container)
        if not processes:
            raise UserError(f"pod {pod['metadata']['name']}: no process is in the cgroup of its container {container}")
        at = time.time()
        for process in processes:
            # The first process of a container takes the others with it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return at

    def _state(self) -> str:
        path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{self.namespace}/jobsets/{self.job_set}"
        return str((self.kube.get(path) or {}).get("status", {}))


@dataclass(frozen=True)
class Begun:
    """When one gang came how far."""

    python: float
    """The program has started; TensorFlow comes next."""
    ready: float
    """Connected, and the checkpoint restored."""
    first_step: float
    """The first line about steps that this gang has computed."""
    step: int
    """The step that it began at."""


def begun(log: list[Line]) -> Begun | None:
    """The start that a log reports; None if it has no step yet."""
    python = next((at for at, line in log if "tensorplane: started" in line), None)
    ready = next(((at, int(found[1])) for at, line in log if (found := _BEGIN.search(line))), None)
    first = next((at for at, line in log if _STEP.search(line)), None)
    return Begun(python, ready[0], first, ready[1]) if python and ready and first else None


def reached(log: list[Line], at: float) -> int | None:
    """The last step before a time; None if the log has no step yet."""
    return max((int(found[1]) for when, line in log if when <= at and (found := _STEP.search(line))), default=None)


@contextmanager
def running(
    *, interruption_minutes: float, nodes: int = 1, settings: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[Gang]:
    """A new cluster with so many real nodes and the job, which has completed its first steps. `settings`: sections that
    the dev stack has instead of its own."""
    with instance.running(nodes=nodes) as bench, scratch("bench") as folder:
        sections = {"cluster": {"kind": "embedded", "nodes": nodes}, **settings} if nodes > 1 else settings
        outputs = bench.deploy_with(_settings(interruption_minutes, sections), folder).outputs()
        gang = Gang(bench.kube, outputs["namespace"], outputs["workloads"][_JOB]["jobSet"])
        gang.wait_for_start()
        yield gang


def _settings(interruption_minutes: float, sections: Mapping[str, Any]) -> str:
    tree = {"config": dict(stack_file.read(PROJECT / "Pulumi.dev.yaml").config)}
    tree["config"] |= {f"tensorplane:{name}": section for name, section in sections.items()}
    job = tree["config"][_WORKLOADS][_JOB]
    job["env"] = {"STEPS": 10**7}
    job["checkpoints"] = {"volume": "models", "interruptionMinutes": interruption_minutes}
    # A container that is killed counts as a failure of the code.
    job["maxRestarts"] = 1000
    tree["config"][_WORKLOADS] = {_JOB: job}
    return yaml.safe_dump(tree)


def of_container(container: str) -> set[int]:
    """Processes in the cgroups of a container."""
    found: set[int] = set()
    for folder in cgroups.folders(instance.BENCH):
        for group in folder.rglob(f"*{container}*"):
            found |= {int(process) for process in _lines(group / "cgroup.procs")}
    return found - {0}


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
