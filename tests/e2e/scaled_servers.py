"""Model servers that scale: a model for them, and clients."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from driver import linked_project
from driver.deploy import Stack
from embedded.step import Step
from tests.e2e.small_jobs import SMALL

_PROGRAM = """
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
_MAKER = {
    "kind": "trainingJob",
    "strategy": {"kind": "single"},
    "command": ["python3", "-c", _PROGRAM],
    "env": {"TF_CPP_MIN_LOG_LEVEL": "2"},
    "resources": SMALL,
    "volumes": {"models": "/models"},
}


def deploy(
    stack: Stack,
    folder: Path,
    namespace: str,
    scalings: Mapping[str, Mapping[str, Any]],
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> Stack:
    """The stack with the job `maker`, whose model `half` servers serve, and `more` in sections of its settings.
    `scalings`: that of each server."""
    server = {
        "kind": "modelServer",
        "model": {"volume": "models", "path": "half"},
        "resources": {"cpus": 0.1, "memoryGib": 1},
    }
    settings: dict[str, Any] = {
        "namespace": namespace,
        "controllers": {"kueue": "present", "jobset": "present"},
        "volumes": {"models": {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]}},
        "workloads": {"maker": _MAKER, **{name: {**server, "scaling": scaling} for name, scaling in scalings.items()}},
    }
    for section, content in (more or {}).items():
        settings[section] = {**settings.get(section, {}), **content}
    text = json.dumps({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
    made = linked_project.with_settings(stack, folder, text)
    made.prepare(Step("prepare"))
    made.up(Step("pulumi up"))
    return made


@contextlib.contextmanager
def asked(url: str) -> Iterator[None]:
    """Two clients ask the model at this URL without pause."""
    ended = threading.Event()
    request = urllib.request.Request(f"{url}:predict", json.dumps({"instances": [1.0]}).encode())

    def ask() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=10) as answer:
                answer.read()

    clients = [threading.Thread(target=ask) for _ in range(2)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        ended.set()
        for client in clients:
            client.join()
