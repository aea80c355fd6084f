"""A stream as a stack declares it: its broker as a pod on the volume, a job that writes, one that reads, and kills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.storage.claims import Claims
from tests.storage.streaming import Stack

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


@pytest.fixture
def stack(claims: Claims, tmp_path: Path) -> Stack:
    """The stack, with the images that it needs."""
    return Stack(claims, tmp_path, NAMESPACE)


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
