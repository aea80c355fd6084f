"""A pod that exists as long as a command runs."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator

from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.objects import condition
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.runs import failures
from tensorplane.driver.status_tables import pod_state

_START_SECONDS = 180.0
"""Time for a node to pull the image and mount the volume."""
_LOOK_SECONDS = 0.3


@contextlib.contextmanager
def running(api: Kube, pod: Object) -> Iterator[Object]:
    """The pod once it is ready. It is deleted at the end, also after Ctrl-C and SIGTERM.

    A UserError if it ends before, or is not ready in time.
    """
    path = f"{pods_of(pod['metadata']['namespace'])}/{pod['metadata']['name']}"
    with _ended_by_sigterm():
        try:
            api.apply(path, pod, jobset_api.CLI_MANAGER)
            yield ready(api, path)
        finally:
            api.delete(path, gracePeriodSeconds="0")


def ready(api: Kube, path: str) -> Object:
    """The pod at this path of the API, once it is ready. A UserError if it ends before, or is not ready in time."""
    name, end, state = path.rpartition("/")[2], time.monotonic() + _START_SECONDS, "missing"
    while time.monotonic() < end:
        found = api.get(path)
        if found is None:
            raise UserError(f"{name}: the pod was deleted")
        state = pod_state(found)
        if condition(found, "Ready").holds:
            return found
        if found["status"].get("phase") in ("Succeeded", "Failed"):
            lines = api.text(f"{path}/log", tailLines="3").splitlines()
            raise UserError(f"{name}: the pod ended before it was ready: {state}", *(f"  {line}" for line in lines))
        time.sleep(_LOOK_SECONDS)
    reason = failures.unscheduled(api.get(path) or {})
    shown = f"; {reason}" if reason else ""
    raise UserError(f"{name}: the pod is not ready after {_START_SECONDS:.0f} s: {state}{shown}")


def runs(api: Kube, path: str) -> bool:
    """Whether the pod at this path runs."""
    found = api.get(path)
    return found is not None and pod_state(found) == "Running"


def pods_of(namespace: str) -> str:
    """Path of the pods of a namespace."""
    return f"/api/v1/namespaces/{namespace}/pods"


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does, so that what it created is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
