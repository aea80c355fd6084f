"""A scorer as a stack declares it: a job writes records, a model server answers, and each record has one result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components import versions
from tests.storage.claims import Claims
from tests.storage.streaming import Stack

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
_JOB: dict[str, Any] = {"kind": "trainingJob", "strategy": {"kind": "single"}}
_SMALL = {"cpus": 0.1, "memoryGib": 0.25}
_SETTINGS: dict[str, Any] = {
    "cluster": {"kind": "embedded"},
    "namespace": "tensorplane-scored",
    "volumes": {
        "records": {"sizeGib": 1, "retain": False},
        # A name that no other test gives a claim: what a claim keeps from its creation goes with the stack's state.
        "halves": {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]},
    },
    "streams": {
        "events": {
            "volume": "records",
            "topics": {"numbers": {"partitions": _PARTITIONS}, "scores": {"partitions": 2, "compacted": True}},
            "groups": {"scorer": {"topics": ["numbers"]}, "table": {"topics": ["scores"]}},
            "producers": {"source": {"topics": ["numbers"]}, "results": {"topics": ["scores"]}},
        },
    },
    "workloads": {
        "model": {
            **_JOB,
            "command": ["python3", "-c", _MODEL],
            "resources": {"cpus": 0.3, "memoryGib": 1},
            "volumes": {"halves": "/models"},
        },
        "writer": {
            **_JOB,
            "command": ["python3", "writing.py"],
            "files": {"writing.py": "tests/stream/writing.py"},
            "env": {"NUMBERS": _NUMBERS, "PARTITIONS": _PARTITIONS, "PAUSE_SECONDS": 0.5},
            "resources": _SMALL,
            "streams": {"events": {"producer": "source"}},
        },
        "table": {
            **_JOB,
            "command": ["python3", "reading_results.py"],
            "files": {"reading_results.py": "tests/stream/reading_results.py"},
            "env": {"NUMBERS": _NUMBERS},
            "resources": _SMALL,
            "streams": {"events": {"group": "table"}},
        },
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
            "resources": _SMALL,
        },
    },
}


def test_scorer_and_broker_are_killed_and_each_record_has_one_result(claims: Claims, tmp_path: Path) -> None:
    stack = Stack(claims, tmp_path, _SETTINGS["namespace"], versions.EMBEDDED_IMAGES.serve)
    stack.up(_SETTINGS)
    stack.said("scorer", r"scored=[1-9]")
    stack.kill("scorer")
    stack.kill("events-kafka")
    # On a slow machine all records may be scored by now.
    assert stack.said("table", r"results=(\d+) right=(\w+)").groups() == (str(_NUMBERS), "True")
    assert set(stack.up(_SETTINGS)) == {"same"}
