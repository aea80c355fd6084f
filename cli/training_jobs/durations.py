"""How long the last finished run of each job held its quota: what the next one is likely to take."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from cli.api_values import Object
from cli.kueue import workloads
from cli.kueue.objects import KUEUE, ClusterObjects
from cli.training_jobs import listing
from components import versions
from components.base.labels import NAME
from core.errors import UserError
from core.kube import Kube


def last(api: Kube, namespace: str) -> dict[str, float]:
    """Seconds by job, of the jobs of a namespace; empty if the cluster does not answer."""
    try:
        job_sets = api.items(f"/apis/{versions.JOBSET_API}/namespaces/{namespace}/jobsets")
        works = workloads.works(ClusterObjects("", workloads=api.items(f"{KUEUE}/namespaces/{namespace}/workloads")))
    except UserError:
        return {}
    return of(job_sets, works)


def of(job_sets: Iterable[Object], works: Iterable[workloads.Work]) -> dict[str, float]:
    """The same, of these JobSets and Workloads."""
    by_owner = {work.owner: work for work in works}
    found: dict[str, tuple[datetime, float]] = {}
    for job_set in job_sets:
        about, work = job_set["metadata"], by_owner.get(job_set["metadata"]["uid"])
        state, ended = listing.state_and_end(job_set, work)
        if state != "finished":
            continue
        end = ended or datetime.min.replace(tzinfo=UTC)
        name = (about.get("labels") or {}).get(NAME, about["name"])
        found[name] = max(found.get(name, (end, 0.0)), (end, listing.held_seconds(job_set, work, end)))
    return {name: seconds for name, (_, seconds) in found.items()}
