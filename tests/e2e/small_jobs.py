"""Many small training jobs in one update, in a queue of their own, and what their pods say when they have ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.kube import Kube
from tensorplane.driver.update.stack import Stack
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.e2e.stacks import OwnStack
from tests.support.waiting import PATIENT_SECONDS, eventually

_FILES = {
    ".": "tests/e2e/programs",
    "data.py": "examples/digits/data.py",
    "train.py": "examples/digits/train.py",
    "digits.csv.gz": "package:sklearn/datasets/data/digits.csv.gz",
}
SMALL = {"cpus": 0.15, "memoryGib": 1.25}
_QUEUE = {"cpus": 1.4, "memoryGib": 12}
"""How much of the machine the running jobs have; the others wait."""
SERVERS: Mapping[str, Any] = {
    "kind": "parameterServer",
    "workers": 2,
    "servers": 1,
    "chief": SMALL,
    "serverResources": SMALL,
}
"""A strategy with parameter servers."""
WORKERS: Mapping[str, Any] = {"kind": "multiWorkerMirrored", "workers": 2}
LEGACY = {"TF_USE_LEGACY_KERAS": "1"}
"""Variables with which `tf.keras` is tf_keras."""
SINGLE: Mapping[str, Any] = {"kind": "single"}
ENDLESS = "1000000"
"""More steps than any machine trains in the time of a test."""


@dataclass(frozen=True)
class Job:
    """A training job on the digits: a program of `tests/e2e/programs` and its strategy."""

    name: str
    program: str
    strategy: Mapping[str, Any] = field(default_factory=lambda: SINGLE)
    env: Mapping[str, str] = field(default_factory=dict)
    saves: bool = False
    """Whether it has checkpoints, a model and TensorBoard's folder on the volume."""
    command: Sequence[str] = ()
    """Instead of the program alone."""
    resources: Mapping[str, float] = field(default_factory=lambda: SMALL)

    def __str__(self) -> str:
        return self.name

    def settings(self) -> dict[str, Any]:
        """Of its workload."""
        saving: dict[str, Any] = {
            "volumes": {"work": "/work"},
            "checkpoints": {"volume": "work", "everySteps": 50},
            "model": {"volume": "work", "path": f"models/{self.name}"},
            "tensorboard": {"volume": "work"},
        }
        return {
            "kind": "trainingJob",
            "strategy": dict(self.strategy),
            "command": list(self.command) or ["python3", self.program],
            "files": _FILES,
            # One thread each keeps the pods out of each other's way.
            "env": {"TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2", **self.env},
            "resources": dict(self.resources),
            "queue": "small",
            **(saving if self.saves else {}),
        }


@dataclass(frozen=True)
class Ended:
    """A job that has ended."""

    succeeded: bool
    restarts: int
    logs: Mapping[str, str]
    """What its pods said, by role and index such as `worker-1`."""

    def __str__(self) -> str:
        return "\n".join(f"--- {name}\n{log[-3000:]}" for name, log in self.logs.items())


class Running:
    """The deployed jobs."""

    def __init__(self, kube: Kube, stack: Stack) -> None:
        outputs = stack.outputs()
        self._kube, self.namespace = kube, str(outputs["namespace"])
        self.runs: Mapping[str, str] = {
            name: each["jobSet"] for name, each in outputs["workloads"].items() if "jobSet" in each
        }
        self.pods_path = f"/api/v1/namespaces/{self.namespace}/pods"

    def path(self, job: str) -> str:
        """Of its JobSet."""
        return jobset_api.path({"metadata": {"namespace": self.namespace, "name": self.runs[job]}})

    def pods(self, job: str) -> dict[str, dict[str, Any]]:
        """The job's pods by role and index; the newest, if one was replaced."""
        found = self._kube.items(self.pods_path, labelSelector=f"jobset.sigs.k8s.io/jobset-name={self.runs[job]}")
        return {_task(pod): pod for pod in sorted(found, key=_age)}

    def said(self, job: str, pattern: str, task: str = "worker-0", *, not_by: str = "") -> re.Match[str]:
        """Waits for words of the newest pod of a task, unless that is the pod with this UID."""

        def log() -> str:
            pod = self.pods(job).get(task)
            return self.log(pod) if pod and pod["metadata"]["uid"] != not_by else ""

        found = eventually(lambda: re.search(pattern, log(), re.MULTILINE), about=lambda: self.logs(job))
        assert found
        return found

    def kill(self, pod: Mapping[str, Any]) -> None:
        """Without grace, as a node that dies does."""
        self._kube.delete(f"{self.pods_path}/{pod['metadata']['name']}", gracePeriodSeconds="0")

    def all_end(self, job: str) -> bool:
        """Waits until none of its pods runs."""
        waiting = ("Running", "Pending")
        return eventually(lambda: all(pod["status"]["phase"] not in waiting for pod in self.pods(job).values()))

    def log(self, pod: Mapping[str, Any]) -> str:
        return self._kube.text(f"{self.pods_path}/{pod['metadata']['name']}/log")

    def ended(self, job: str, seconds: float = PATIENT_SECONDS) -> Ended:
        """Waits for the job's end."""

        def look() -> Ended | None:
            job_set = self._kube.get(self.path(job)) or {}
            if not (how := jobset_api.outcome(job_set)):
                return None
            return Ended(how == "finished", job_set["status"].get("restarts", 0), self.logs(job))

        found = eventually(look, seconds, about=lambda: f"{job}: {self.logs(job)} {self._conditions(job)}")
        assert found
        return found

    def _conditions(self, job: str) -> list[str]:
        """What Kueue says of it, and of the others: a job without pods waits for them."""
        workloads = self._kube.items("/apis/kueue.x-k8s.io/v1beta2/workloads")
        return [
            f"{one['metadata']['name']}: {each['type']} {each['status']}, {each['message']}"
            for one in workloads
            for each in one.get("status", {}).get("conditions", ())
        ]

    def logs(self, job: str) -> dict[str, str]:
        return {task: self.log(pod) for task, pod in sorted(self.pods(job).items())}


def _task(pod: Mapping[str, Any]) -> str:
    role, index = jobset_api.role_and_index(dict(pod))
    return f"{role}-{index}"


def _age(pod: Mapping[str, Any]) -> tuple[bool, str]:
    """Times of creation have whole seconds; of a pod and its replacement, the former is being deleted."""
    return "deletionTimestamp" not in pod["metadata"], str(pod["metadata"]["creationTimestamp"])


def sections(jobs: Sequence[Job]) -> dict[str, Any]:
    """The sections of settings of a stack with these jobs."""
    return {
        "queues": {"small": _QUEUE},
        "volumes": {"work": {"sizeGib": 1, "retain": False}},
        "workloads": {job.name: job.settings() for job in jobs},
    }


@contextmanager
def deployed_jobs(deployed: Deployed, folder: Path, name: str, jobs: Sequence[Job]) -> Iterator[Running]:
    """A stack `name` with these jobs, destroyed at the end with its volume."""
    with stack_of_jobs(deployed, folder, name, jobs) as (_, running):
        yield running


@contextmanager
def stack_of_jobs(
    deployed: Deployed, folder: Path, name: str, jobs: Sequence[Job]
) -> Iterator[tuple[OwnStack, Running]]:
    """The same, with the stack."""
    with stacks.own(deployed, folder, name) as made:
        made.up(**sections(jobs))
        yield made, Running(deployed.kube, made.stack)
