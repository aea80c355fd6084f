"""Everything about one job: why it is in its state, its pods, its folders, and its curves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object, moment
from tensorplane.cli.commands.logs import lines
from tensorplane.cli.commands.why import command as why_command
from tensorplane.cli.commands.why.answer import Answer
from tensorplane.cli.output.numbers import NOTHING, spent
from tensorplane.cli.output.tables import table
from tensorplane.cli.training_jobs import curves, jobset_api, listing
from tensorplane.cli.training_jobs.curves import Point
from tensorplane.cli.training_jobs.listing import Job
from tensorplane.core.times import age
from tensorplane.driver.runs.job_set import JobSet
from tensorplane.driver.status_tables import pod_state

_FOLDERS = {"MODEL_DIR": "model", "CHECKPOINT_DIR": "checkpoints", "TENSORBOARD_DIR": "TensorBoard"}


@dataclass(frozen=True)
class JobDescription:
    """What is known of a job."""

    job: Job
    why: Answer
    command: tuple[str, ...]
    folders: Mapping[str, str]
    """Paths in the pods."""
    pods: tuple[Object, ...]
    points: tuple[Point, ...]

    def plain(self) -> dict[str, Any]:
        """Everything, for programs."""
        job = {**asdict(self.job), "created": str(self.job.created), "ended": self.job.ended and str(self.job.ended)}
        there = [{"name": pod["metadata"]["name"], "state": pod_state(pod)} for pod in self.pods]
        return {**asdict(self), "job": job, "pods": there}


def run(access: Access, job: str, console: Console, *, as_json: bool) -> None:
    """Asks the cluster about a job, and prints."""
    now = datetime.now(UTC)
    found = ask(access, access.job(job), now)
    if as_json:
        print(json.dumps(found.plain(), indent=2))
    else:
        show(found, console, now)


def ask(access: Access, job_set: Object, now: datetime) -> JobDescription:
    """What a cluster knows of a job."""
    api, about, shown = access.api, job_set["metadata"], JobSet(job_set)
    inside = f"/api/v1/namespaces/{about['namespace']}/pods"
    there = sorted(jobset_api.pods(api, job_set), key=jobset_api.role_and_index)
    chief = next((pod["metadata"]["name"] for pod in there if pod["metadata"]["name"].startswith(shown.writer)), None)
    log = api.text(f"{inside}/{chief}/log").splitlines() if chief and shown.writer else []
    return JobDescription(
        listing.get_job(api, job_set, now),
        why_command.explained(access, job_set),
        shown.command,
        {name: shown.value(variable) for variable, name in _FOLDERS.items() if shown.value(variable)},
        tuple(there),
        tuple(curves.points(log)),
    )


def show(found: JobDescription, console: Console, now: datetime) -> None:
    """Everything for people."""
    why_command.show(found.why, console)
    console.print("", table(("", ""), list(_properties(found).items())))
    if found.pods:
        rows = [(lines.name(jobset_api.role_and_index(pod)), *_pod(pod, now)) for pod in found.pods]
        console.print("", table(("pod", "state", "node", "age"), rows))
    drawn = curves.draw(found.points, console.width)
    if drawn:
        console.print("")
    for line in drawn:
        console.print(Text(line.rstrip(), no_wrap=True, overflow="crop"))


def _properties(found: JobDescription) -> dict[str, str]:
    job = found.job
    return {
        "job": job.name,
        "run": job.run,
        "namespace": job.namespace,
        "queue": job.queue or NOTHING,
        "flavors": ", ".join(job.flavors) or NOTHING,
        "command": " ".join(found.command),
        **found.folders,
        **({"GPUs": str(job.gpus), "GPU-hours": f"{job.gpu_hours:.1f}"} if job.gpus else {}),
        **({"cost so far": spent(job.usd)} if job.usd else {}),
        "restarts": str(job.restarts),
    }


def _pod(pod: Object, now: datetime) -> tuple[str, str, str]:
    return (
        pod_state(pod),
        pod["spec"].get("nodeName") or NOTHING,
        age(moment(pod["metadata"]["creationTimestamp"]), now),
    )
