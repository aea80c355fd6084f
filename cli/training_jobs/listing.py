"""Training jobs that a person may see: state, place in the queue, progress, cost, and how long the last run took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from tensorplane.cli.api_values import Object, moment
from tensorplane.cli.kueue import prices, workloads
from tensorplane.cli.kueue.objects import KUEUE, ClusterObjects, condition
from tensorplane.cli.kueue.prices import Prices
from tensorplane.cli.kueue.workloads import Work
from tensorplane.components.base import jobset_paths
from tensorplane.components.base.labels import NAME
from tensorplane.components.base.price import Usd
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube

State = Literal["waiting", "starting", "running", "stopping", "finished", "failed", "cancelled"]
"""`stopping`: cancelled, and its pods have not ended yet."""


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
    usd: Usd | None
    """What it has cost so far; None if the prices of its nodes are unknown."""


def list_jobs(job_sets: Sequence[Object], works: Sequence[Work], flavors: Sequence[Object], now: datetime) -> list[Job]:
    """The jobs of these JobSets, in order. Of a JobSet whose Workload waits, the metadata is enough. `flavors`: the
    ResourceFlavors."""
    by_owner = {work.owner: work for work in works}
    names, costs = workloads.flavor_names(flavors), prices.of(flavors)
    return in_order([_job(one, by_owner.get(one["metadata"]["uid"]), names, costs, now) for one in job_sets])


def get_job(api: Kube, job_set: Object, now: datetime) -> Job:
    """The job of one JobSet, with what the cluster knows of it."""
    inside = f"{KUEUE}/namespaces/{job_set['metadata']['namespace']}"
    objects = ClusterObjects(
        "", local_queues=api.items(f"{inside}/localqueues"), workloads=api.items(f"{inside}/workloads")
    )
    (found,) = list_jobs([job_set], workloads.works(objects), api.items(f"{KUEUE}/resourceflavors"), now)
    return found


def in_order(found: Sequence[Job]) -> list[Job]:
    """Running and waiting jobs from old to new, then ended ones from new to old."""
    alive = [job for job in found if job.ended is None]
    ended = [job for job in found if job.ended is not None]
    order = {"running": 0, "stopping": 1, "starting": 2, "waiting": 3}
    alive.sort(key=lambda job: (order[job.state], _time(job.created), job.run))
    return alive + sorted(ended, key=lambda job: (_time(job.ended), job.run), reverse=True)


def _job(job_set: Object, work: Work | None, flavor_names: Mapping[str, str], costs: Prices, now: datetime) -> Job:
    about, status = job_set["metadata"], job_set.get("status") or {}
    state, ended = state_and_end(job_set, work)
    pods, gpus = _size(job_set, work)
    hours = held_seconds(job_set, work, ended or now) / 3600
    hourly = prices.hourly(work, costs) if work else None
    held = () if ended else tuple(flavor_names.get(name, name) for name in sorted(work.held)) if work else ()
    return Job(
        name=(about.get("labels") or {}).get(NAME, about["name"]),
        run=about["name"],
        uid=about["uid"],
        namespace=about["namespace"],
        state=state,
        queue=workloads.queue_of(job_set),
        flavors=held,
        pods=pods,
        gpus=gpus,
        restarts=int(status.get("restarts") or 0),
        created=moment(about["creationTimestamp"]),
        ended=ended,
        gpu_hours=round(gpus * hours, 2),
        usd=hourly * hours if hourly else None,
    )


def state_and_end(job_set: Object, work: Work | None) -> tuple[State, datetime | None]:
    """The state of a run, and when it ended; None while it has not."""
    for kind, state in (("Completed", "finished"), ("Failed", "failed")):
        if (end := condition(job_set, kind)).holds:
            return ("finished" if state == "finished" else "failed"), end.since
    if job_set["metadata"].get("deletionTimestamp"):
        return "stopping", None
    if (work and work.state == "waiting") or job_set["spec"].get("suspend"):
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


def _size(job_set: Object, work: Work | None) -> tuple[int, int]:
    """How many pods and GPUs it asks for."""
    if work and "spec" not in job_set:
        return sum(each.count for each in work.pods), work.gpus
    pods = _pods(job_set)
    gpus = sum(count * workloads.requests(pod).get(GPU_RESOURCE, 0) for count, pod in pods)
    return sum(count for count, _ in pods), int(gpus)


def _pods(job_set: Object) -> list[tuple[int, Object]]:
    """How many pods of each role, and their spec."""
    return [
        (
            int(each.get("replicas", 1)) * int(each["template"]["spec"].get("parallelism", 1)),
            each["template"]["spec"]["template"]["spec"],
        )
        for each in job_set["spec"]["replicatedJobs"]
    ]


def held_seconds(job_set: Object, work: Work | None, until: datetime) -> float:
    """For how long it has held its quota. A job without a queue has held nodes since it was created."""
    if work is None:
        began = None if workloads.queue_of(job_set) else moment(job_set["metadata"]["creationTimestamp"])
        return (until - began).total_seconds() if began else 0
    held = work.reserved.since if work.reserved.holds else None
    return work.ran_before + ((until - held).total_seconds() if held else 0)


def _time(then: datetime | None) -> float:
    return then.timestamp() if then else 0


def last_durations(api: Kube, namespace: str) -> dict[str, float]:
    """Seconds by job, of the jobs of a namespace; empty if the cluster does not answer."""
    try:
        job_sets = api.items(jobset_paths.in_namespace(namespace))
        works = workloads.works(ClusterObjects("", workloads=api.items(f"{KUEUE}/namespaces/{namespace}/workloads")))
    except UserError:
        return {}
    return durations_of(job_sets, works)


def durations_of(job_sets: Iterable[Object], works: Iterable[workloads.Work]) -> dict[str, float]:
    """The same, of these JobSets and Workloads."""
    by_owner = {work.owner: work for work in works}
    found: dict[str, tuple[datetime, float]] = {}
    for job_set in job_sets:
        about, work = job_set["metadata"], by_owner.get(job_set["metadata"]["uid"])
        state, ended = state_and_end(job_set, work)
        if state != "finished":
            continue
        end = ended or datetime.min.replace(tzinfo=UTC)
        name = (about.get("labels") or {}).get(NAME, about["name"])
        found[name] = max(found.get(name, (end, 0.0)), (end, held_seconds(job_set, work, end)))
    return {name: seconds for name, (_, seconds) in found.items()}
