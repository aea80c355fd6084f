"""A stream as a stack declares it: its broker as a pod on the volume, a job that writes, one that reads, and kills."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from components import versions
from driver import deploy, linked_project
from driver.deploy import open_stack
from driver.target import Target
from embedded.cluster import processes
from embedded.cluster.image_store import ImageStore
from embedded.cluster.places import Places
from embedded.images import kafka_image
from embedded.step import Step
from tests.storage.claims import Claims
from tests.storage.declared import pulumi
from tests.support.waiting import eventually

NAMESPACE = "tensorplane-streams"
NUMBERS = 600
PARTITIONS = 2
_SETTINGS: dict[str, Any] = {
    "cluster": {"kind": "embedded"},
    "namespace": NAMESPACE,
    "volumes": {
        "events": {"sizeGib": 1, "retain": False},
        "runs": {"sizeGib": 1, "retain": False},
    },
    "streams": {
        "events": {
            "volume": "events",
            "topics": {"numbers": {"partitions": PARTITIONS, "retentionHours": 1}},
            "groups": {"counting": {}},
            "producers": {"source": {}},
        },
    },
    "workloads": {
        "writer": {
            "kind": "trainingJob",
            "strategy": {"kind": "single"},
            "command": ["python3", "writing.py"],
            "files": {"writing.py": "tests/stream/writing.py"},
            "env": {"NUMBERS": NUMBERS, "PARTITIONS": PARTITIONS, "PAUSE_SECONDS": 0.2},
            "resources": {"cpus": 0.1, "memoryGib": 0.25},
            "streams": {"events": {"producer": "source"}},
        },
        "reader": {
            "kind": "trainingJob",
            "strategy": {"kind": "single"},
            "command": ["python3", "program.py"],
            "files": {"program.py": "tests/stream/program.py"},
            "env": {"NUMBERS": NUMBERS, "SAVE_EVERY": 5},
            "resources": {"cpus": 0.3, "memoryGib": 1},
            "volumes": {"runs": "/runs"},
            "checkpoints": {"volume": "runs"},
            "streams": {"events": {"group": "counting"}},
        },
    },
}


class Stack:
    """The stack on the tests' cluster, and what its pods say."""

    def __init__(self, claims: Claims, folder: Path) -> None:
        self.kube = claims.kube
        self.namespace = NAMESPACE
        self._folder, self._instance = folder, claims.instance
        alive = processes.find(claims.instance)
        assert alive
        kafka_image.image().build(Step("the broker's image"))
        jobset = f"{versions.JOBSET.image}:{versions.JOBSET.image_tag}"
        wanted = (versions.EMBEDDED_IMAGES.train, versions.EMBEDDED_KAFKA, jobset)
        ImageStore(Places(claims.instance), alive).load(wanted, Step("images"))

    def up(self, settings: dict[str, Any]) -> dict[str, int]:
        """`pulumi up`; what it changed."""
        return self._with(settings).up(Step("pulumi up"))

    def up_as_found(self, settings: dict[str, Any]) -> None:
        """`pulumi up` that looks first at what is there."""
        done = pulumi(self._with(settings), "up", "--refresh")
        assert done.returncode == 0, done.stdout + done.stderr

    def _with(self, settings: dict[str, Any]) -> deploy.Stack:
        text = yaml.safe_dump({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
        opened = open_stack(Target("", self._instance))
        stack = linked_project.with_settings(opened, self._folder, text)
        stack.prepare(Step("pulumi up"))
        return stack

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

        found = eventually(lambda: re.search(pattern, log()), about=log)
        assert found
        return found

    def kill(self, name: str) -> str:
        """Ends the newest pod of this name as a node that dies does; its name."""
        pod = self.newest(name)
        self.kube.delete(f"/api/v1/namespaces/{self.namespace}/pods/{pod}", gracePeriodSeconds="0")
        return pod


@pytest.fixture
def stack(claims: Claims, tmp_path: Path) -> Stack:
    """The stack, with the images that it needs."""
    return Stack(claims, tmp_path)


def test_reader_and_broker_are_killed_and_each_record_counts_once(stack: Stack) -> None:
    stack.up(_SETTINGS)
    stack.said("reader", r"saved=\d+")
    killed = stack.kill("reader")
    stack.kill("events-kafka")
    assert stack.said("reader", r"resumed=(\w+)", not_by=killed)[1] == "True"
    assert stack.said("reader", r"lost=(\d+) twice=(\d+)", not_by=killed).groups() == ("0", "0")
    assert stack.said("writer", r"unsent=(\d+)")[1] == "0"
    assert set(stack.up(_SETTINGS)) == {"same"}


def test_a_recreated_disk_gets_its_topics(claims: Claims, stack: Stack) -> None:
    settings = {**_SETTINGS, "namespace": f"{NAMESPACE}-anew", "workloads": {}}
    stack.namespace = settings["namespace"]
    # A preview comes first: of a claim whose namespace is not there yet.
    stack.up_as_found(settings)
    stack.said("events-topics", "topic numbers: created")
    before = stack.newest("events-topics")
    disk = f"/api/v1/namespaces/{stack.namespace}/persistentvolumeclaims/events"
    claims.kube.delete(disk)
    stack.kill("events-kafka")
    claims.until_gone(disk)
    stack.up_as_found(settings)
    stack.said("events-topics", "topic numbers: created", not_by=before)
