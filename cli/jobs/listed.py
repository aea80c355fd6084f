"""All training jobs that a person may see, with their state, place in the queue, progress and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cli.api_values import Object, moment
from cli.kueue import workloads
from cli.kueue.facts import condition
from cli.kueue.workloads import Work
from components.base.labels import NAME
from components.catalog import GPU_RESOURCE

State = Literal["waiting", "starting", "running", "finished", "failed"]


@dataclass(frozen=True)
class Job:
    """One run of a job."""

    name: str
    """The job's name: that of the workload, or the run's if nothing else is known."""
    run: str
    """Name of its JobSet."""
    uid: str
    namespace: str
    state: State
    queue: str | None
    flavors: tuple[str, ...]
    """The flavors that it holds; empty while it waits, and after its end."""
    pods: int
    gpus: int
    restarts: int
    created: datetime | None
    ended: datetime | None
    gpu_hours: float
    """So far, those of earlier admissions included."""


def jobs(
    job_sets: Sequence[Object], works: Sequence[Work], flavor_names: Mapping[str, str], now: datetime
) -> list[Job]:
    """The jobs of these JobSets: running and waiting ones from old to new, then ended ones from new to old."""
    by_owner = {work.owner: work for work in works}
    found = [_job(one, by_owner.get(one["metadata"]["uid"]), flavor_names, now) for one in job_sets]
    alive = [job for job in found if job.ended is None]
    ended = [job for job in found if job.ended is not None]
    order = {"running": 0, "starting": 1, "waiting": 2}
    alive.sort(key=lambda job: (order[job.state], _time(job.created), job.run))
    return alive + sorted(ended, key=lambda job: (_time(job.ended), job.run), reverse=True)


def _job(job_set: Object, work: Work | None, flavor_names: Mapping[str, str], now: datetime) -> Job:
    about, status = job_set["metadata"], job_set.get("status") or {}
    state, ended = _state(job_set, work)
    pods = _pods(job_set)
    gpus = sum(count * workloads.requests(pod).get(GPU_RESOURCE, 0) for count, pod in pods)
    held = () if ended else tuple(flavor_names.get(name, name) for name in sorted(work.held)) if work else ()
    return Job(
        name=(about.get("labels") or {}).get(NAME, about["name"]),
        run=about["name"],
        uid=about["uid"],
        namespace=about["namespace"],
        state=state,
        queue=workloads.queue_of(job_set),
        flavors=held,
        pods=sum(count for count, _ in pods),
        gpus=int(gpus),
        restarts=int(status.get("restarts") or 0),
        created=moment(about["creationTimestamp"]),
        ended=ended,
        gpu_hours=round(gpus * _seconds(job_set, work, ended or now) / 3600, 2),
    )


def _state(job_set: Object, work: Work | None) -> tuple[State, datetime | None]:
    for kind, state in (("Completed", "finished"), ("Failed", "failed")):
        if (end := condition(job_set, kind)).holds:
            return ("finished" if state == "finished" else "failed"), end.since
    if job_set["spec"].get("suspend") or (work and work.state == "waiting"):
        return "waiting", None
    return ("running" if _all_ready(job_set) else "starting"), None


def _all_ready(job_set: Object) -> bool:
    """Whether every pod of the gang runs, or has done its work."""
    wanted = {each["name"]: int(each.get("replicas", 1)) for each in job_set["spec"]["replicatedJobs"]}
    there = {each["name"]: each for each in (job_set.get("status") or {}).get("replicatedJobsStatus") or ()}
    return all(
        there.get(name, {}).get("ready", 0) + there.get(name, {}).get("succeeded", 0) >= count
        for name, count in wanted.items()
    )


def _pods(job_set: Object) -> list[tuple[int, Object]]:
    """How many pods of each role, and their spec."""
    return [
        (
            int(each.get("replicas", 1)) * int(each["template"]["spec"].get("parallelism", 1)),
            each["template"]["spec"]["template"]["spec"],
        )
        for each in job_set["spec"]["replicatedJobs"]
    ]


def _seconds(job_set: Object, work: Work | None, until: datetime) -> float:
    """For how long it has held its quota. A job without a queue has held nodes since it was created."""
    if work is None:
        began = None if workloads.queue_of(job_set) else moment(job_set["metadata"]["creationTimestamp"])
        return (until - began).total_seconds() if began else 0
    held = work.reserved.since if work.reserved.holds else None
    return work.ran_before + ((until - held).total_seconds() if held else 0)


def _time(then: datetime | None) -> float:
    return then.timestamp() if then else 0
