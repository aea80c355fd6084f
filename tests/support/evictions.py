"""Evictions through the API, as `kubectl drain` makes them, and logs that outlive their pods."""

from __future__ import annotations

import threading
from http.client import TOO_MANY_REQUESTS
from pathlib import Path

from kubernetes import client, config

from tests.support.waiting import PATIENT_SECONDS


class Pods:
    """Pods of one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._api = client.CoreV1Api(config.new_client_from_config(str(kubeconfig)))
        self._namespace = namespace

    def evict(self, name: str, *, grace_seconds: int) -> bool:
        """Ask the pod to stop, so long before it is killed. False if a disruption budget does not let it go yet."""
        body = client.V1Eviction(
            metadata=client.V1ObjectMeta(name=name, namespace=self._namespace),
            delete_options=client.V1DeleteOptions(grace_period_seconds=grace_seconds),
        )
        try:
            self._api.create_namespaced_pod_eviction(name, self._namespace, body)
        except client.ApiException as error:
            if error.status != TOO_MANY_REQUESTS:
                raise
            return False
        return True

    def follow(self, name: str) -> FollowedLog:
        """The pod's log from its beginning, read until its container ends."""
        answer = self._api.read_namespaced_pod_log(name, self._namespace, follow=True, _preload_content=False)
        return FollowedLog(answer)


class FollowedLog(threading.Thread):
    """A log that a thread reads while it is written: that of a deleted pod cannot be read afterwards."""

    def __init__(self, answer: object) -> None:
        super().__init__(daemon=True)
        self._answer, self._read = answer, bytearray()
        self.start()

    def run(self) -> None:
        for part in self._answer.stream():  # type: ignore[attr-defined]  # kubernetes has no types
            self._read += part

    def whole(self) -> str:
        """Waits for the end of the container; all that it said."""
        self.join(PATIENT_SECONDS)
        assert not self.is_alive(), f"the container still runs\n{bytes(self._read[-2000:]).decode(errors='replace')}"
        return self._read.decode(errors="replace")
