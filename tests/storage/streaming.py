"""A stack with a stream on the tests' cluster, and what its pods say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tensorplane.components import versions
from tensorplane.core.step import Step
from tensorplane.images import kafka_image
from tests.storage.claims import Claims
from tests.storage.declared import Declared, pulumi
from tests.support.waiting import eventually

SMALL = {"cpus": 0.1, "memoryGib": 0.25}


def job(command: list[str], **settings: Any) -> dict[str, Any]:
    """A job of one pod; a program of tests/stream by its name."""
    program = command[-1]
    files = {"files": {program: f"tests/stream/{program}"}} if program.endswith(".py") else {}
    single = {"kind": "trainingJob", "strategy": {"kind": "single"}, "resources": SMALL}
    return {**single, "command": ["python3", *command], **files, **settings}


class Streaming(Declared):
    """The stack, and what its pods say."""

    def __init__(self, claims: Claims, folder: Path, name: str) -> None:
        super().__init__(claims, folder, name)
        self._settings: dict[str, Any] = {}
        kafka_image.image().build(Step("the broker's image"))
        jobset = f"{versions.JOBSET.image}:{versions.JOBSET.image_tag}"
        self.load_images(versions.EMBEDDED_IMAGES.train, versions.EMBEDDED_KAFKA, jobset)

    def up_of(self, settings: dict[str, Any]) -> dict[str, int]:
        """`pulumi up` of these settings; what it changed."""
        self._settings = settings
        return super().up_of(settings)

    def up_as_found(self, settings: dict[str, Any]) -> None:
        """`pulumi up` that looks first at what is there."""
        self._settings = settings
        done = pulumi(self.stack_of(settings), "up", "--refresh")
        assert done.returncode == 0, done.stdout + done.stderr

    def tidy(self) -> None:
        """Ends it: of what serves all namespaces, only one stack of a cluster may be the owner."""
        if self._settings:
            self.stack_of(self._settings).destroy(Step("destroy"))

    def newest(self, name: str) -> str:
        """The newest pod of this name; empty before there is one."""
        pods = self.claims.kube.items(self.path("v1/pods"), labelSelector=f"app.kubernetes.io/name={name}")
        newest = max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)
        return str(newest["metadata"]["name"]) if newest else ""

    def said(self, name: str, pattern: str, *, not_by: str = "") -> re.Match[str]:
        """Waits for a line of the newest pod of this name, other than the pod `not_by`."""

        def log() -> str:
            pod = self.newest(name)
            asks = pod and pod != not_by
            return self.claims.kube.text(f"{self.path('v1/pods', pod)}/log") if asks else ""

        found = eventually(lambda: re.search(pattern, log()), about=lambda: f"{log()}\n{self._state()}")
        assert found
        return found

    def _state(self) -> str:
        """What the namespace's JobSets, pods and Events say: why a pod or a broker does not come."""
        kube = self.claims.kube
        containers = (
            f"{pod['metadata']['name']}: {status['restartCount']} restarts, {status['state']}, {status['lastState']}"
            for pod in kube.items(self.path("v1/pods"))
            for status in pod["status"].get("containerStatuses", ())
        )
        told = (
            f"{event['lastTimestamp']} {event['involvedObject']['name']}: {event['reason']}: {event['message']}"
            for event in kube.items(self.path("v1/events"))
        )
        job_sets = kube.items(self.path(f"{versions.JOBSET_API}/jobsets"))
        jobs = (f"{job_set['metadata']['name']}: {job_set.get('status')}" for job_set in job_sets)
        return "\n".join([*jobs, *containers, *told])

    def kill(self, name: str) -> str:
        """Ends the newest pod of this name as a node that dies does; its name."""
        pod = self.newest(name)
        self.claims.kube.delete(self.path("v1/pods", pod), gracePeriodSeconds="0")
        return pod

    def open_gate(self, volume: str) -> None:
        """Lets the writer write its second half."""
        (self.content(volume) / "go").touch()
