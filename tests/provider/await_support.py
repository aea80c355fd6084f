"""Helpers of the await tests: waits in threads, and statuses as kubelets and controllers write them."""

from __future__ import annotations

import threading
import time
from typing import Any

from embedded.provider.api import Api
from embedded.provider.await_ready import AwaitError, wait_ready
from embedded.provider.gvk import GVK

Object = dict[str, Any]

MANAGER = "test"


class Waiting:
    """`wait_ready` in a thread, and what it said and returned."""

    def __init__(self, api: Api, obj: Object, timeout: float | None = 30.0) -> None:
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

    def end(self, seconds: float = 10.0) -> Waiting:
        self._thread.join(seconds)
        assert self.is_over, f"still waiting: {self.lines[-1:]}"
        return self

    def says(self, text: str, seconds: float = 10.0) -> None:
        """Returns once a status line has the text: until then the wait must go on."""
        end = time.monotonic() + seconds
        while not any(text in line for line in self.lines):
            assert not self.is_over
            assert time.monotonic() < end, self.lines
            time.sleep(0.05)


def set_status(api: Api, obj: Object, **status: Any) -> Object:
    """What a controller does."""
    meta = obj["metadata"]
    gvk = GVK.of(obj)
    path = api.path(gvk, meta.get("namespace"), meta["name"], "status")
    merge = "application/merge-patch+json"
    return api._json("PATCH", path, query=[("fieldManager", MANAGER)], body={"status": status}, content_type=merge)


def create(api: Api, obj: Object) -> Object:
    return api.create(obj, manager=MANAGER)
