"""Publishes the model of a run that has finished: a small job copies it to a model server, in the name of the run.

The run itself stays as it is, with its pods and what they have printed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from tensorplane.cli.access import Access
from tensorplane.cli.commands.logs import follow
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.commands.run import create, plan, submission
from tensorplane.cli.commands.run.create import SubmitState
from tensorplane.cli.commands.run.plan import Planned
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobRequest, section
from tensorplane.cli.commands.run.submission import Ready
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base.names import shorten

_LONGEST_NAME = 40
_RESOURCES = {"cpus": 0.1, "memoryGib": 0.25}


def job(name: str, of: Mapping[str, Any], server: str, platform: Platform) -> JobRequest:
    """The job. `of`: the `volumes`, `model`, `queue` and `image` of the job whose run it publishes."""
    model = of["model"]
    folder = section(section(platform.workloads, server), "model")
    volumes = section(of, "volumes")
    wanted = sorted({model["volume"], folder.get("volume", model["volume"])})
    settings = {
        "kind": "trainingJob",
        "strategy": {"kind": "single"},
        "command": ["python3", "-c", "pass"],
        "resources": _RESOURCES,
        "volumes": {each: volumes[each] if each in volumes else _mount(each, platform) for each in wanted},
        "model": model,
        "onSuccess": {"publish": server},
        **{key: of[key] for key in ("queue", "image") if of.get(key)},
    }
    return JobRequest(shorten(f"{name}-publish", _LONGEST_NAME), settings, Path().resolve())


def _mount(volume: str, platform: Platform) -> str | None:
    """Where the job mounts a volume that the run does not; None: at the volume's own path."""
    declared = section(section(platform.settings.tree, "volumes"), volume)
    return None if declared.get("path") else f"/{volume}"


def publish(
    access: Access, platform: Platform, job: JobRequest, run: str, console: Console, *, detach: bool = False
) -> None:
    """Starts the job and, unless `detach`, follows it to its end. A UserError if it fails.

    `run`: whose model it is. To publish the same run again changes nothing, unless another run has published to the
    server since.
    """
    planned = plan.planned(job, platform, publisher=run)
    if create.expected_state(access.api, planned) == "finished":
        planned = plan.planned(job, platform, attempt=int(time.time()), publisher=run)

    def submitted_text(planned: Planned, _: SubmitState) -> str:
        return f"{run}: has finished; {planned.run} publishes its model to {job.settings['onSuccess']['publish']}"

    this = Ready(access, platform, planned)
    job_set = submission.submit(this, submitted_text, console).job_set

    def until_end() -> None:
        submission.until_admitted(access, job_set, console)
        follow.until_end(access.api, job_set, LogsOptions(), console)
        # Its pod would keep the volume's claim from being deleted with the stack.
        access.api.delete(jobset_api.path(job_set), propagationPolicy="Foreground")

    submission.follow(this, until_end, console, hint="Follow it", shows="logs -f", detach=detach)
