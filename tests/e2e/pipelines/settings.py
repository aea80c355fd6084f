"""The pipelines of the tests, beside the dev stack, whose queue they use."""

from __future__ import annotations

from typing import Any

from embedded.paths import PROJECT
from tests.support.rendering import settings_of

_UPPER = """
grep -q poison /in/texts/* && exit 1
grep -q hungry /in/texts/* && exec tail /dev/zero
grep -q sleepy /in/texts/* && exec sleep 1000.125
cd /in/texts
for text in *; do tr a-z A-Z < "$text" > "/out/$text"; done
"""
_RESOURCES = {"cpus": 0.05, "memoryGib": 0.0625}
_STAGES = {
    # A program that is not in Python. It gives up on a poisonous text, takes all of its memory on a
    # hungry one, and has no end on a sleepy one.
    "upper": {
        "command": ["sh", "-c", _UPPER],
        "inputs": {"texts": {"dataset": "texts", "split": "file"}},
        "output": "upper",
        "queue": "training",
        "retries": 0,
        "resources": _RESOURCES,
    },
    "count": {
        "command": ["python3", "count.py"],
        "files": {"count.py": "tests/e2e/programs/count_words.py"},
        "inputs": {"texts": "upper"},
        "output": "counts",
        "params": {"LEAST": 2},
        "resources": _RESOURCES,
    },
}
_OF_TEXTS = ("texts", "upper", "counts", "names", "greetings")
_GREET = {
    "kind": "pipeline",
    "triggers": {"new": {}},
    "stages": {
        "greet": {
            # Its folders are where an image made for another system expects them.
            "command": [
                "sh",
                "-c",
                'cd /pfs/names; for one in *; do echo "hello $(cat "$one")" > "/pfs/out/$one"; done',
            ],
            "inputs": {"names": {"dataset": "names", "split": "file", "path": "/pfs/names"}},
            "output": "greetings",
            "outputPath": "/pfs/out",
            "retries": 100,
            "resources": _RESOURCES,
        }
    },
}


def sections() -> dict[str, dict[str, Any]]:
    """Entries of the stack's sections: two pipelines on the dev stack's volume, and the example of images."""
    example = settings_of(PROJECT / "examples" / "image-classification.yaml").tree
    # As many as its gates need.
    example["workloads"]["classify"]["stages"]["train"]["job"]["env"] = {"EPOCHS": 10}
    workloads = {"words": {"kind": "pipeline", "stages": _STAGES}, "hello": _GREET}
    return {
        "volumes": {"data": {**example["volumes"]["data"], "retain": False}},
        "datasets": {**{name: {"volume": "models"} for name in _OF_TEXTS}, **example["datasets"]},
        "workloads": {**workloads, **example["workloads"]},
    }
