"""Requests to single server pods, by their addresses: which versions they have, their metrics, their answers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

METRICS_PATH = "/monitoring/prometheus/metrics"
_SECONDS = 5
_AVAILABLE = "AVAILABLE"


@dataclass(frozen=True)
class Server:
    """The REST API of one pod."""

    address: str
    """HOST:PORT."""
    model: str

    def versions(self) -> tuple[frozenset[int], Mapping[int, str]]:
        """The versions that it answers for, and those that it could not load with the reason. Raises OSError."""
        try:
            states = self._get(f"/v1/models/{self.model}")["model_version_status"]
        except urllib.error.HTTPError:
            # The server has not looked into the folder yet.
            return frozenset(), {}
        ready = frozenset(int(each["version"]) for each in states if each["state"] == _AVAILABLE)
        failed = {
            int(each["version"]): _reason(each["status"].get("error_message", ""))
            for each in states
            if each["state"] != _AVAILABLE and each["status"].get("error_code", "OK") != "OK"
        }
        return ready, failed

    def metadata(self, version: int) -> Mapping[str, Any]:
        """The signatures of a version. Raises OSError."""
        return self._get(f"/v1/models/{self.model}/versions/{version}/metadata")

    def metrics(self) -> str:
        """Its metrics as text. Raises OSError."""
        with urllib.request.urlopen(f"http://{self.address}{METRICS_PATH}", timeout=_SECONDS) as answer:
            text: str = answer.read().decode()
            return text

    def predict(self, version: int, instances: Sequence[Any]) -> list[Any]:
        """The predictions for a batch. Raises OSError, also for a refusal."""
        path = f"/v1/models/{self.model}/versions/{version}:predict"
        predictions: list[Any] = self._get(path, {"instances": list(instances)})["predictions"]
        return predictions

    def _get(self, path: str, body: Any = None) -> Mapping[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        # Pods of the stack, which speak HTTP.
        with urllib.request.urlopen(f"http://{self.address}{path}", data, timeout=_SECONDS) as answer:
            found: Mapping[str, Any] = json.load(answer)
            return found


def _reason(message: str) -> str:
    """TensorFlow's first line: the others are its own stack."""
    first = message.strip().splitlines()
    return f"cannot be loaded: {first[0][:300]}" if first else "cannot be loaded"
