"""Publishes the model of a sweep's best trial to a model server: a small job copies it, in the name of the trial."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from cli.access import Access
from cli.commands.logs import follow
from cli.commands.logs.pods import Choice
from cli.commands.run import plan, submission
from cli.commands.run.asked import Job, section
from cli.commands.run.platform import Platform
from cli.commands.run.query import wait
from cli.commands.sweep import results
from cli.commands.sweep.results import Results
from cli.jobs import in_cluster
from components.base.labels import NAME, TRIAL
from components.base.names import shorten
from components.base.plural import counted
from embedded.fault import Fault

_LONGEST_NAME = 40


def run(access: Access, sweep: str, server: str, console: Console) -> None:
    """Starts the job and follows it to its end. A Fault if the sweep has not ended, or if the job fails.

    To publish the same trial again changes nothing, unless another run has published to the server since.
    """
    kept = results.kept(access, sweep)
    trial = json.loads((kept["metadata"].get("annotations") or {}).get(TRIAL, "{}"))
    platform = Platform.of_team(access) if access.team else Platform.of_stack(access.stack)
    found = results.read(json.loads(results.text_of(access, kept)))
    job, best = job_of(kept["metadata"]["labels"][NAME], found, trial, server, platform)
    planned = plan.planned(job, platform, publisher=best)
    submitted = submission.submit(access.api, planned)
    if submitted.came == "finished":
        planned = plan.planned(job, platform, attempt=int(time.time()), publisher=best)
        submitted = submission.submit(access.api, planned)
    console.print(Text(f"{planned.run}: publishes the model of {best} to {server}"))
    wait(access, submitted.job_set, console)
    follow.until_end(access.api, submitted.job_set, Choice(), console)
    # Its pod would keep the volume's claim from being deleted with the stack.
    access.api.delete(in_cluster.path(submitted.job_set), propagationPolicy="Foreground")


def job_of(sweep: str, found: Results, trial: Mapping[str, Any], server: str, platform: Platform) -> tuple[Job, str]:
    """The job that publishes, and the run of the best trial. `trial`: its volumes, model and queue."""
    if not found.finished:
        ended = sum(one.state != "open" for one in found.trials)
        of = f"{ended} of {counted(found.planned, 'trial')}"
        raise Fault(f"--publish: {found.run} has ended {of}, and a later one may be better; wait for the others")
    if (best := found.best) is None:
        raise Fault(f"--publish: no trial of {found.run} is complete; see: tensorplane sweep {sweep}")
    if not (model := trial.get("model")):
        raise Fault(f"--publish: the trials of {found.run} keep no model; set workloads.{sweep}.trial.model")
    folder = section(section(section(platform.settings.tree, "workloads"), server), "model")
    wanted = {model["volume"], folder.get("volume", model["volume"])}
    settings = {
        "kind": "trainingJob",
        "strategy": {"kind": "single"},
        "command": ["python3", "-c", "pass"],
        "resources": {"cpus": 0.1, "memoryGib": 0.25},
        "volumes": {name: trial["volumes"].get(name) or _mount(name, platform) for name in sorted(wanted)},
        "model": {"volume": model["volume"], "path": f"{model['path']}/{best.run}"},
        "onSuccess": {"publish": server},
        **({"queue": trial["queue"]} if trial.get("queue") else {}),
    }
    return Job(shorten(f"{sweep}-publish", _LONGEST_NAME), settings, Path().resolve()), best.run


def _mount(volume: str, platform: Platform) -> str | None:
    """Where the job mounts a volume that the trials do not; None: at the volume's own path."""
    declared = section(section(platform.settings.tree, "volumes"), volume)
    return None if declared.get("path") else f"/{volume}"
