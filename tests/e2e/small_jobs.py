"""Many small training jobs in one update, in a queue of their own, and what their pods say when they have ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from driver import linked_project
from driver.deploy import Stack
from driver.kube import Kube
from embedded.step import Step
from tests.e2e.conftest import Deployed
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
            "resources": SMALL,
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

    def pods(self, job: str) -> dict[str, dict[str, Any]]:
        """The job's pods by role and index; the newest, if one was replaced."""
        found = self._kube.items(self.pods_path, labelSelector=f"jobset.sigs.k8s.io/jobset-name={self.runs[job]}")
        return {_task(pod): pod for pod in sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))}

    def all_end(self, job: str) -> bool:
        """Waits until none of its pods runs."""
        waiting = ("Running", "Pending")
        return eventually(lambda: all(pod["status"]["phase"] not in waiting for pod in self.pods(job).values()))

    def log(self, pod: Mapping[str, Any]) -> str:
        return self._kube.text(f"{self.pods_path}/{pod['metadata']['name']}/log")

    def ended(self, job: str, seconds: float = PATIENT_SECONDS) -> Ended:
        """Waits for the job's end."""

        def look() -> Ended | None:
            path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{self.namespace}/jobsets/{self.runs[job]}"
            status = (self._kube.get(path) or {}).get("status", {})
            kinds = {one["type"] for one in status.get("conditions", ()) if one["status"] == "True"}
            if not kinds & {"Completed", "Failed"}:
                return None
            return Ended("Completed" in kinds, status.get("restarts", 0), self.logs(job))

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
    labels = pod["metadata"]["labels"]
    index = labels["batch.kubernetes.io/job-completion-index"]
    return f"{labels['jobset.sigs.k8s.io/replicatedjob-name']}-{index}"


@contextmanager
def deployed_jobs(deployed: Deployed, folder: Path, name: str, jobs: Sequence[Job]) -> Iterator[Running]:
    """A stack `name` with these jobs, destroyed at the end with its volume."""
    settings = {
        "namespace": f"tensorplane-{name}",
        "controllers": {"kueue": "present", "jobset": "present"},
        "queues": {"small": _QUEUE},
        "volumes": {"work": {"sizeGib": 1, "retain": False}},
        "workloads": {job.name: job.settings() for job in jobs},
    }
    config = {"config": {f"tensorplane:{key}": value for key, value in settings.items()}}
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name=name))
    stack = linked_project.with_settings(named, folder, json.dumps(config))
    stack.prepare(Step("prepare"))
    try:
        stack.up(Step("pulumi up"))
        yield Running(deployed.kube, stack)
    finally:
        stack.destroy(Step("destroy"))
