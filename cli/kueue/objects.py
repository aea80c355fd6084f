"""What commands read from a cluster about its queues: Kueue's objects, and the jobs, pods and nodes that use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tensorplane.cli.api_values import Object, moment
from tensorplane.components import versions
from tensorplane.components.base import jobset_paths
from tensorplane.components.base.labels import JOB_SET_NAME
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube, ReadableLists

KUEUE = f"/apis/{versions.KUEUE_API}"
_VISIBILITY = f"/apis/{versions.KUEUE_VISIBILITY_API}"


@dataclass(frozen=True)
class ClusterObjects:
    """What `why` and `top` read from a cluster."""

    namespace: str
    """The stack's own."""
    cluster_queues: Sequence[Object] = ()
    cohorts: Sequence[Object] = ()
    flavors: Sequence[Object] = ()
    local_queues: Sequence[Object] = ()
    priorities: frozenset[str] | None = None
    """Names of the WorkloadPriorityClasses; None if the user may not list them."""
    workloads: Sequence[Object] = ()
    """Of all namespaces: they compete."""
    nodes: Sequence[Object] = ()
    pods: Sequence[Object] = ()
    """Of all namespaces, those that have not ended."""
    job_sets: Sequence[Object] = ()
    """Of the namespaces that have the stack's queues."""
    notes: Sequence[str] = ()
    """What could not be read."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The stack's own, and those of its teams."""
        return namespaces(self.namespace, self.local_queues)


@dataclass(frozen=True)
class JobObjects:
    """What `why` reads about one job."""

    pods: Sequence[Object] = ()
    events: Sequence[Object] = ()
    job_set: str = ""
    """Prefix of the names of its Jobs; empty if unknown."""
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By ClusterQueue the owner UIDs of its waiting Workloads in Kueue's order; no entry if Kueue did not report it."""
    limit_ranges: Sequence[Object] = ()
    """Those of the job's namespace."""


def gather(api: Kube, namespace: str, *, also: str = "", needs_kueue: bool = True) -> ClusterObjects:
    """Asks a cluster. What the user may not read is left out, with a note.

    `also`: another namespace whose jobs to read, with or without queues. Without `needs_kueue`, a cluster without Kueue
    counts as one without queues.
    """
    lists = ReadableLists(api)

    def read(path: str, **query: str) -> list[Object]:
        return lists.read(path, **query) or []

    def list_kind(kind: str, inside: Iterable[str]) -> list[Object]:
        """Of all namespaces, or if that is forbidden, of the named ones."""
        everywhere = lists.read(f"{KUEUE}/{kind}")
        if everywhere is not None:
            return everywhere
        return [one for each in inside for one in read(f"{KUEUE}/namespaces/{each}/{kind}")]

    if needs_kueue and api.get(KUEUE) is None:
        reason = f"the cluster has no Kueue that serves {versions.KUEUE_API}"
        raise UserError(f"{reason}; deploy a stack with queues, or upgrade Kueue")
    own = dict.fromkeys(filter(None, (namespace, also)))
    local_queues = list_kind("localqueues", own)
    inside = tuple(dict.fromkeys((*namespaces(namespace, local_queues), *own)))
    workloads = list_kind("workloads", inside)
    classes = read(f"{KUEUE}/workloadpriorityclasses")
    return ClusterObjects(
        namespace,
        cluster_queues=read(f"{KUEUE}/clusterqueues"),
        cohorts=read(f"{KUEUE}/cohorts"),
        flavors=read(f"{KUEUE}/resourceflavors"),
        local_queues=local_queues,
        priorities=frozenset(one["metadata"]["name"] for one in classes) if classes else None,
        workloads=workloads,
        nodes=read("/api/v1/nodes"),
        pods=read("/api/v1/pods", fieldSelector="status.phase!=Succeeded,status.phase!=Failed"),
        job_sets=[one for each in inside for one in read(jobset_paths.in_namespace(each))],
        notes=lists.notes,
    )


def details(api: Kube, job_set: Object, cluster_queue: str | None) -> JobObjects:
    """The pods of a job, events and limits of its namespace, and the waiting jobs of its queue."""
    name, namespace = job_set["metadata"]["name"], job_set["metadata"]["namespace"]
    inside = f"/api/v1/namespaces/{namespace}"
    pods = api.items(f"{inside}/pods", labelSelector=f"{JOB_SET_NAME}={name}")
    events, ranges = _if_allowed(api, f"{inside}/events"), _if_allowed(api, f"{inside}/limitranges")
    order = waiting(api, cluster_queue) if cluster_queue else None
    in_order = {} if order is None or not cluster_queue else {cluster_queue: order}
    return JobObjects(pods, events, f"{name}-", in_order, ranges)


def _if_allowed(api: Kube, path: str) -> list[Object]:
    try:
        return api.items(path)
    except UserError:
        return []


def waiting(api: Kube, cluster_queue: str) -> list[str] | None:
    """Owner UIDs of the Workloads that wait in a ClusterQueue, in Kueue's order; None if Kueue does not serve it."""
    try:
        answer = api.get(f"{_VISIBILITY}/clusterqueues/{cluster_queue}/pendingworkloads")
    except UserError:
        return None
    if answer is None:
        return None
    items = answer.get("items") or ()
    return [owner["uid"] for one in items for owner in one["metadata"].get("ownerReferences", ())[:1]]


def namespaces(namespace: str, local_queues: Sequence[Object]) -> tuple[str, ...]:
    """The stack's namespace first, then those that have one of its queues."""
    own = {one["spec"]["clusterQueue"] for one in local_queues if one["metadata"]["namespace"] == namespace}
    others = {one["metadata"]["namespace"] for one in local_queues if one["spec"]["clusterQueue"] in own}
    return (namespace, *sorted(others - {namespace}))


@dataclass(frozen=True)
class Condition:
    """A condition of an object."""

    holds: bool
    reason: str
    message: str
    since: datetime | None


_UNKNOWN = Condition(False, "", "", None)


def condition(thing: Object, kind: str) -> Condition:
    """A condition by its type; a missing one is False."""
    for one in (thing.get("status") or {}).get("conditions") or ():
        if one["type"] == kind:
            since = moment(one.get("lastTransitionTime"))
            return Condition(one["status"] == "True", one.get("reason") or "", one.get("message") or "", since)
    return _UNKNOWN
