"""A stream as a stack declares it: its broker as a pod on the volume, a job that writes, one that reads, and kills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.storage.claims import Claims
from tests.storage.declared import UNRETAINED
from tests.storage.streaming import Streaming, job

pytestmark = pytest.mark.nightly("TensorFlow in pods, kills; told by tests/stream/test_resume and test_embedded_topics")
NUMBERS = 600
PARTITIONS = 2
_SETTINGS: dict[str, Any] = {
    "volumes": {"events": UNRETAINED, "runs": UNRETAINED},
    "streams": {
        "events": {
            "volume": "events",
            "topics": {"numbers": {"partitions": PARTITIONS, "retentionHours": 1}},
            "groups": {"counting": {}},
            "producers": {"source": {}},
        },
    },
    "workloads": {
        "writer": job(
            ["writing.py"],
            env={"NUMBERS": NUMBERS, "PARTITIONS": PARTITIONS, "GATE": "/runs/go"},
            volumes={"runs": "/runs"},
            streams={"events": {"producer": "source"}},
        ),
        "reader": job(
            ["program.py"],
            env={"NUMBERS": NUMBERS, "SAVE_EVERY": 5},
            resources={"cpus": 0.3, "memoryGib": 1},
            volumes={"runs": "/runs"},
            checkpoints={"volume": "runs"},
            streams={"events": {"group": "counting"}},
        ),
    },
}


@pytest.fixture
def stack(claims: Claims, tmp_path: Path) -> Iterator[Streaming]:
    """The stack, with the images that it needs."""
    with Streaming.own(claims, tmp_path) as made:
        yield made


def test_reader_and_broker_are_killed_and_each_record_counts_once(stack: Streaming) -> None:
    stack.up_of(_SETTINGS)
    stack.said("reader", r"saved=\d+")
    killed = stack.kill("reader")
    stack.kill("events-kafka")
    stack.open_gate("runs")
    assert stack.said("reader", r"resumed=(\w+)", not_by=killed)[1] == "True"
    assert stack.said("reader", r"lost=(\d+) twice=(\d+)", not_by=killed).groups() == ("0", "0")
    assert stack.said("writer", r"unsent=(\d+)")[1] == "0"
    assert set(stack.up_of(_SETTINGS)) == {"same"}


def test_a_recreated_disk_gets_its_topics(stack: Streaming) -> None:
    settings = {**_SETTINGS, "workloads": {}}
    # A preview comes first: of a claim whose namespace is not there yet.
    stack.up_as_found(settings)
    stack.said("events-topics", "topic numbers: created")
    before = stack.newest("events-topics")
    disk = stack.path("v1/persistentvolumeclaims", "events")
    stack.claims.kube.delete(disk)
    stack.kill("events-kafka")
    stack.claims.until_gone(disk)
    stack.up_as_found(settings)
    stack.said("events-topics", "topic numbers: created", not_by=before)
