"""Model servers that scale: a model for them, and clients."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

from tests.e2e import half_models
from tests.e2e.stacks import OwnStack
from tests.support.waiting import PATIENT_SECONDS


def deploy(
    stack: OwnStack, scalings: Mapping[str, Mapping[str, Any]], more: Mapping[str, Mapping[str, Any]] | None = None
) -> None:
    """Servers of the model `half`, and `more` in sections of the stack's settings. `scalings`: that of each server."""
    server = {
        "kind": "modelServer",
        "model": {"volume": "models", "path": "half"},
        "resources": {"cpus": 0.1, "memoryGib": 1},
    }
    settings: dict[str, Any] = {
        "volumes": {"models": {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]}},
        "workloads": {name: {**server, "scaling": scaling} for name, scaling in scalings.items()},
    }
    for section, content in (more or {}).items():
        settings[section] = {**settings.get(section, {}), **content}
    stack.up(**settings)


def publish(stack: OwnStack) -> None:
    """The model, which answers a half of what it is asked."""
    half_models.publish(half_models.half(0), stack.volume() / "half", 1)


@contextlib.contextmanager
def load(url: str) -> Iterator[None]:
    """Two clients ask the model at this URL without pause."""
    ended = threading.Event()
    request = urllib.request.Request(f"{url}:predict", json.dumps({"instances": [1.0]}).encode())

    def ask() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=PATIENT_SECONDS) as answer:
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
