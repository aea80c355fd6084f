"""Asks a cluster which training jobs there are, and how far they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.jobs import tables
from tensorplane.cli.commands.jobs.tables import Row
from tensorplane.cli.kueue import objects as queue_objects
from tensorplane.cli.kueue import workloads
from tensorplane.cli.kueue.workloads import Work
from tensorplane.cli.training_jobs import cancelled, jobset_api, listing, progress
from tensorplane.cli.training_jobs.listing import Job
from tensorplane.cli.training_jobs.progress import Progress
from tensorplane.components.base import jobset_paths
from tensorplane.core.kube import Kube

_MOST_ENDED_JOBS = 20
"""Ended jobs that are shown."""
_FOLLOWED = 50
"""Running jobs whose logs are read for their progress."""
_PARALLEL_REQUESTS = 16
_READ_ALONE = 32
"""JobSets that are read one by one; of more, the whole list."""


def run(access: Access, console: Console, *, everything: bool, as_json: bool) -> None:
    """Asks the cluster, and prints."""
    rows = ask(access, datetime.now(UTC))
    shown = rows if everything else _newest(rows)
    if as_json:
        print(json.dumps([row.plain() for row in shown], indent=2))
        return
    if not rows:
        console.print("There is no training job; start one with: tensorplane run -- python train.py")
        return
    console.print(tables.render(shown, datetime.now(UTC)))
    if hidden := len(rows) - len(shown):
        console.print(Text(f"{hidden} more have ended; list them with --all", style="dim"))


def ask(access: Access, now: datetime) -> list[Row]:
    """Every job of the cluster, or of a team."""
    api, kueue = access.api, queue_objects.KUEUE
    # Side by side: with a thousand jobs, the API server takes most of a second for a long list.
    with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
        of_workloads = pool.submit(access.items, kueue, "workloads")
        of_metadata = pool.submit(access.metadata, jobset_paths.JOB_SETS, "jobsets")
        of_queues = pool.submit(access.items, kueue, "localqueues")
        of_flavors = pool.submit(api.items, f"{kueue}/resourceflavors")
        of_cancelled = pool.submit(access.cancelled)
        of_positions = pool.submit(_positions, api, of_queues)
        works = workloads.works(
            queue_objects.ClusterObjects("", local_queues=of_queues.result(), workloads=of_workloads.result())
        )
        job_sets = _job_sets(access, of_metadata.result(), works, pool)
        positions = of_positions.result()
    there = listing.list_jobs(job_sets, works, of_flavors.result(), now)
    jobs = listing.in_order([*there, *cancelled.gone(of_cancelled.result(), job_sets)])
    reached = _progress(api, jobs, {one["metadata"]["uid"]: one for one in job_sets})
    return [Row(job, positions.get(job.uid), reached.get(job.uid, Progress())) for job in jobs]


def _job_sets(access: Access, there: Sequence[Object], works: Sequence[Work], pool: Executor) -> list[Object]:
    """The JobSets, those that wait with their metadata alone: of a thousand jobs most do, and the API server takes as
    long to write them as their Workloads, which say the same."""
    waiting = {work.owner for work in works if work.state == "waiting"}
    bare = [one for one in there if one["metadata"]["uid"] in waiting]
    started = [one for one in there if one["metadata"]["uid"] not in waiting]
    if len(started) > _READ_ALONE:
        whole = [one for one in access.job_sets() if one["metadata"]["uid"] not in waiting]
    else:
        # One that has been deleted meanwhile is none.
        whole = [one for one in pool.map(lambda one: access.api.get(jobset_api.path(one)), started) if one]
    return [*bare, *whole]


def _positions(api: Kube, of_queues: Future[list[Object]]) -> dict[str, tuple[int, int]]:
    """By UID of a waiting job: its position in Kueue's order, from 1, and how many wait in its ClusterQueue."""
    found: dict[str, tuple[int, int]] = {}
    for queue in sorted({each["spec"]["clusterQueue"] for each in of_queues.result()}):
        order = queue_objects.waiting(api, queue) or []
        found |= {uid: (position, len(order)) for position, uid in enumerate(order, 1)}
    return found


def _progress(api: Kube, jobs: Sequence[Job], job_sets: Mapping[str, Object]) -> dict[str, Progress]:
    """The progress of running jobs, by UID; of very many, the oldest ones."""
    running = [job.uid for job in jobs if job.state == "running"][:_FOLLOWED]
    with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
        found = pool.map(lambda uid: progress.of(api, job_sets[uid]), running)
    return dict(zip(running, found, strict=True))


def _newest(rows: Sequence[Row]) -> list[Row]:
    alive = [row for row in rows if row.job.ended is None]
    return [*alive, *[row for row in rows if row.job.ended is not None][:_MOST_ENDED_JOBS]]
