"""How far a running job is: the newest progress that its chief has printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tensorplane.cli.api_values import Object
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.kube import Kube
from tensorplane.driver.runs import log_line
from tensorplane.driver.runs.job_set import JobSet
from tensorplane.workloads.sweep.controller_objects import RESULTS_SUFFIX

_LINES = 20
"""Last lines of the log among which to look."""


@dataclass(frozen=True)
class Progress:
    """The library's last report; of a sweep, the trials that have ended instead of steps."""

    step: int | None = None
    steps: int | None = None
    """Of the whole run, if known."""
    loss: float | None = None
    steps_per_second: float | None = None
    eta_seconds: int | None = None


def of(api: Kube, job_set: Object) -> Progress:
    """The progress of a job with running pods; empty if its chief has not reported any."""
    if jobset_api.is_sweep_controller(job_set):
        return _of_sweep(api, job_set)
    about = job_set["metadata"]
    inside, chief = f"/api/v1/namespaces/{about['namespace']}/pods", JobSet(job_set).writer
    running = jobset_api.pods(api, job_set, fieldSelector="status.phase=Running")
    names = [pod["metadata"]["name"] for pod in running]
    name = next((name for name in names if chief and name.startswith(chief)), None)
    return read(api.text(f"{inside}/{name}/log", tailLines=str(_LINES)).splitlines()) if name else Progress()


def _of_sweep(api: Kube, job_set: Object) -> Progress:
    """How many of a sweep's trials have ended."""
    about = job_set["metadata"]
    path = f"/api/v1/namespaces/{about['namespace']}/configmaps/{about['name']}{RESULTS_SUFFIX}"
    found = json.loads(((api.get(path) or {}).get("data") or {}).get("results.json", "{}"))
    ended = [one for one in found.get("trials", ()) if one["state"] != "open"]
    return Progress(step=len(ended), steps=found["planned"]) if found else Progress()


def read(lines: Sequence[str]) -> Progress:
    """The newest report among these lines of a log."""
    report = next((found for line in reversed(lines) if "steps_per_second" in (found := log_line.parse(line))), {})
    return Progress(
        step=_number(report.get("step")),
        steps=_number(report.get("steps")),
        loss=decimal(report.get("loss")),
        steps_per_second=decimal(report.get("steps_per_second")),
        eta_seconds=_number(report.get("eta_seconds")),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def decimal(text: str | None) -> float | None:
    """A number of a report; None if it is missing or none."""
    try:
        return float(text) if text else None
    except ValueError:
        return None
