"""Helpers of the await tests: waits in threads, and statuses as kubelets and controllers write them."""

from __future__ import annotations

import threading
from typing import Any

from tensorplane.core.gvk import GVK
from tensorplane.core.kube import MERGE_PATCH
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes.await_ready import AwaitError, wait_ready
from tests.support.waiting import PATIENT_SECONDS, eventually

Object = dict[str, Any]

MANAGER = "test"
LONG_SECONDS = 10 * PATIENT_SECONDS
"""A wait of that long never ends by itself in a test: whatever ends it is something else."""


class Waiting:
    """`wait_ready` in a thread, and what it said and returned."""

    def __init__(self, api: Objects, obj: Object, timeout: float | None = LONG_SECONDS) -> None:
        self.lines: list[str] = []
        self.result: Object | None = None
        self.error: AwaitError | None = None
        self.cancelled = threading.Event()
        self._arguments = (api, obj, timeout)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        api, obj, timeout = self._arguments
        try:
            self.result = wait_ready(api, obj, timeout=timeout, cancelled=self.cancelled, log=self.lines.append)
        except AwaitError as error:
            self.error = error

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> Waiting:
        self._thread.join(PATIENT_SECONDS)
        assert self.is_over, f"still waiting: {self.lines[-1:]}"
        return self

    def says(self, text: str) -> None:
        """Returns once a status line has the text: until then the wait must go on."""

        def said() -> bool:
            goes_on = not self.is_over
            found = any(text in line for line in self.lines)
            assert found or goes_on, self.lines
            return found

        eventually(said, about=lambda: self.lines)


def set_status(api: Objects, obj: Object, **status: Any) -> Object:
    """What a controller does."""
    meta = obj["metadata"]
    gvk = GVK.of(obj)
    path = api.path(gvk, meta.get("namespace"), meta["name"], "status")
    return api.kube.json("PATCH", path, {"fieldManager": MANAGER}, {"status": status}, content_type=MERGE_PATCH)


def create(api: Objects, obj: Object) -> Object:
    return api.create(obj, manager=MANAGER)
