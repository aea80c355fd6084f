"""A stack with a stream on the tests' cluster, and what its pods say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from components import versions
from driver import deploy
from driver.deploy import open_stack
from driver.target import Target
from embedded.cluster import processes
from embedded.cluster.image_store import ImageStore
from embedded.cluster.places import Places
from embedded.images import kafka_image
from embedded.step import Step
from tests.storage.claims import Claims
from tests.storage.declared import acknowledged, pulumi, unprotected, with_settings
from tests.support.waiting import eventually


class Stack:
    """The stack on the tests' cluster, and what its pods say."""

    def __init__(self, claims: Claims, folder: Path, namespace: str, *images: str) -> None:
        """`images`: those that it needs besides those of jobs and brokers."""
        self.kube = claims.kube
        self.namespace = namespace
        self._folder, self._instance = folder, claims.instance
        alive = processes.find(claims.instance)
        assert alive
        kafka_image.image().build(Step("the broker's image"))
        jobset = f"{versions.JOBSET.image}:{versions.JOBSET.image_tag}"
        wanted = (versions.EMBEDDED_IMAGES.train, versions.EMBEDDED_KAFKA, jobset, *images)
        ImageStore(Places(claims.instance), alive).load(wanted, Step("images"))

    def up(self, settings: dict[str, Any]) -> dict[str, int]:
        """`pulumi up`; what it changed."""
        return self._with(settings).up(Step("pulumi up"))

    def up_as_found(self, settings: dict[str, Any]) -> None:
        """`pulumi up` that looks first at what is there."""
        done = pulumi(self._with(settings), "up", "--refresh")
        assert done.returncode == 0, done.stdout + done.stderr

    def _with(self, settings: dict[str, Any]) -> deploy.Stack:
        stack = with_settings(open_stack(Target("", self._instance)), self._folder, settings)
        stack.prepare(Step("pulumi up"))
        # Earlier tests left other volumes, or the same in another namespace.
        left, declared = unprotected(stack), settings["volumes"].keys()
        gone = acknowledged(settings, deleteVolume=left - declared, replaceVolume=left & declared)
        return with_settings(stack, self._folder, gone)

    def newest(self, name: str) -> str:
        """The newest pod of this name; empty before there is one."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        pods = self.kube.items(path, labelSelector=f"app.kubernetes.io/name={name}")
        newest = max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)
        return str(newest["metadata"]["name"]) if newest else ""

    def said(self, name: str, pattern: str, *, not_by: str = "") -> re.Match[str]:
        """Waits for a line of the newest pod of this name, other than the pod `not_by`."""

        def log() -> str:
            pod = self.newest(name)
            asks = pod and pod != not_by
            return self.kube.text(f"/api/v1/namespaces/{self.namespace}/pods/{pod}/log") if asks else ""

        found = eventually(lambda: re.search(pattern, log()), about=lambda: f"{log()}\n{self._state()}")
        assert found
        return found

    def _state(self) -> str:
        """What the namespace's JobSets, pods and Events say: why a pod or a broker does not come."""
        pods = self.kube.items(f"/api/v1/namespaces/{self.namespace}/pods")
        events = self.kube.items(f"/api/v1/namespaces/{self.namespace}/events")
        containers = (
            f"{pod['metadata']['name']}: {status['restartCount']} restarts, {status['state']}, {status['lastState']}"
            for pod in pods
            for status in pod["status"].get("containerStatuses", ())
        )
        told = (
            f"{event['lastTimestamp']} {event['involvedObject']['name']}: {event['reason']}: {event['message']}"
            for event in events
        )
        job_sets = self.kube.items(f"/apis/{versions.JOBSET_API}/namespaces/{self.namespace}/jobsets")
        jobs = (f"{job_set['metadata']['name']}: {job_set.get('status')}" for job_set in job_sets)
        return "\n".join([*jobs, *containers, *told])

    def kill(self, name: str) -> str:
        """Ends the newest pod of this name as a node that dies does; its name."""
        pod = self.newest(name)
        self.kube.delete(f"/api/v1/namespaces/{self.namespace}/pods/{pod}", gracePeriodSeconds="0")
        return pod
