"""Pods and programs that are killed."""

from __future__ import annotations

import subprocess
from typing import Any

from tensorplane.core.kube import Kube
from tests.support.waiting import eventually


def replaced(kube: Kube, namespace: str, selector: str) -> None:
    """Kills the only running pod with these labels as a lost node would; returns once another one runs."""
    path = f"/api/v1/namespaces/{namespace}/pods"

    def running() -> set[str]:
        return {pod["metadata"]["name"] for pod in kube.items(path, labelSelector=selector) if _runs(pod)}

    before = eventually(running)
    for name in before:
        kube.delete(f"{path}/{name}", gracePeriodSeconds="0")
    eventually(lambda: running() - before)


def _runs(pod: dict[str, Any]) -> bool:
    """A pod that is killed may still be listed for a moment."""
    return pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]


def after(seconds: float, process: subprocess.Popen[Any]) -> None:
    """Kills a program, unless it has ended by then."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
