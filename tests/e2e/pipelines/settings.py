"""The pipelines of the tests: one in the dev stack, and all in a stack of theirs."""

from __future__ import annotations

import secrets
from typing import Any

from tensorplane.core.paths import PROJECT
from tests.support.rendering import settings_of

SECONDS = f"1000.{secrets.randbelow(10**9):09}"
"""How long the program sleeps on a sleepy text: no other program of this machine does."""
_UPPER = f"""
grep -q poison /in/texts/* && exit 1
grep -q hungry /in/texts/* && exec tail /dev/zero
grep -q sleepy /in/texts/* && exec sleep {SECONDS}
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
_WORDS = {"kind": "pipeline", "stages": _STAGES}
_OF_WORDS = {name: {"volume": "models"} for name in ("texts", "upper", "counts")}
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


def of_dev() -> dict[str, dict[str, Any]]:
    """Entries for sections of the dev stack: a pipeline that follows the commits of `texts`."""
    return {"datasets": _OF_WORDS, "workloads": {"words": {**_WORDS, "triggers": {"new": {}}}}}


def of_others() -> dict[str, dict[str, Any]]:
    """Sections of a stack with all pipelines, among them the example of images."""
    example = settings_of(PROJECT / "examples" / "image-classification.yaml").tree
    classify = example["workloads"]["classify"]
    # As many as its gates need.
    classify["stages"]["train"]["job"]["env"] = {"EPOCHS": 10}
    # Sheets are committed first: so each pair of commits has one run, on a machine of any speed.
    classify["triggers"] = {"new": {"datasets": ["labels"]}}
    of_names = {name: {"volume": "models"} for name in ("names", "greetings")}
    return {
        "controllers": {"kueue": "present", "jobset": "present", "argoWorkflows": "present"},
        "queues": example["queues"],
        "volumes": {
            "data": {**example["volumes"]["data"], "retain": False},
            "models": {"sizeGib": 1, "retain": False},
        },
        "datasets": {**_OF_WORDS, **of_names, **example["datasets"]},
        "workloads": {"words": _WORDS, "hello": _GREET, **example["workloads"]},
    }
