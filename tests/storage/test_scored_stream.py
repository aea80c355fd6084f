"""A scorer as a stack declares it: a job writes records, a model server answers, and each record has one result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane.components import versions
from tests.storage.claims import Claims
from tests.storage.declared import UNRETAINED
from tests.storage.streaming import SMALL, Streaming, job

_NUMBERS, _PARTITIONS = 300, 2
_MODEL = """
import os, tensorflow as tf

class Half(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def call(self, x):
        return {"y": x / 2}

model = Half()
tf.saved_model.save(model, "/models/.draft", {"serving_default": model.call})
os.makedirs("/models/half", exist_ok=True)
os.rename("/models/.draft", "/models/half/1")
"""
_SETTINGS: dict[str, Any] = {
    "volumes": {"records": UNRETAINED, "halves": UNRETAINED | {"accessModes": ["ReadWriteMany"]}},
    "streams": {
        "events": {
            "volume": "records",
            "topics": {"numbers": {"partitions": _PARTITIONS}, "scores": {"partitions": 2, "compacted": True}},
            "groups": {"scorer": {"topics": ["numbers"]}, "table": {"topics": ["scores"]}},
            "producers": {"source": {"topics": ["numbers"]}, "results": {"topics": ["scores"]}},
        },
    },
    "workloads": {
        "model": job(["-c", _MODEL], resources={"cpus": 0.3, "memoryGib": 1}, volumes={"halves": "/models"}),
        "writer": job(
            ["writing.py"],
            env={"NUMBERS": _NUMBERS, "PARTITIONS": _PARTITIONS, "GATE": "/models/go"},
            volumes={"halves": "/models"},
            streams={"events": {"producer": "source"}},
        ),
        "table": job(["reading_results.py"], env={"NUMBERS": _NUMBERS}, streams={"events": {"group": "table"}}),
        "half-server": {
            "kind": "modelServer",
            "model": {"volume": "halves", "path": "half"},
            "resources": {"cpus": 0.2, "memoryGib": 1},
            "clients": [{"workload": "scorer"}],
        },
        "scorer": {
            "kind": "scorer",
            "server": "half-server",
            "input": {"stream": "events", "topic": "numbers", "group": "scorer"},
            "output": {"stream": "events", "topic": "scores", "producer": "results"},
            "batch": 16,
            "resources": SMALL,
        },
    },
}


@pytest.mark.nightly("TensorFlow three times in pods, kills; told by tests/stream/test_scorer")
def test_scorer_and_broker_are_killed_and_each_record_has_one_result(claims: Claims, tmp_path: Path) -> None:
    with Streaming.own(claims, tmp_path) as stack:
        stack.load_images(versions.EMBEDDED_IMAGES.serve)
        stack.up_of(_SETTINGS)
        stack.said("scorer", r"scored=[1-9]")
        stack.kill("scorer")
        stack.kill("events-kafka")
        stack.open_gate("halves")
        assert stack.said("table", r"results=(\d+) right=(\w+)").groups() == (str(_NUMBERS), "True")
        assert set(stack.up_of(_SETTINGS)) == {"same"}
