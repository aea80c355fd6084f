"""Kueue's Workloads, ClusterQueues and ResourceFlavors as plain values: requests and reserved quota."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tensorplane.cli.api_values import Object, moment
from tensorplane.cli.kueue.objects import ClusterObjects, Condition, condition
from tensorplane.components.base.labels import FLAVOR, NAME, PART_OF, QUEUE_LABEL, TENSORPLANE
from tensorplane.components.base.quantities import amount
from tensorplane.components.catalog import GPU_RESOURCE

Amounts = Mapping[str, float]
"""By resource: cores, bytes, GPUs."""


@dataclass(frozen=True)
class Pods:
    """Identical pods of a job."""

    role: str
    count: int
    each: Amounts
    selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, str], ...]
    terms: tuple[Object, ...] = ()
    """Terms of the required node affinity, one of which must match."""

    @property
    def together(self) -> dict[str, float]:
        """What they request. A pod itself counts, as in Kueue if a queue covers pods."""
        return {name: amount * self.count for name, amount in self.each.items()}


@dataclass(frozen=True)
class Work:
    """A Workload."""

    name: str
    """Its job's."""
    namespace: str
    uid: str
    owner: str
    """UID of its job."""
    queue: str
    """LocalQueue that it is in."""
    cluster_queue: str | None
    """The ClusterQueue of its LocalQueue; None if there is none."""
    priority: int
    created: datetime | None
    pods: tuple[Pods, ...]
    held: Mapping[str, Amounts]
    """Its reserved quota by flavor; empty once it has ended."""
    reserved: Condition
    admitted: Condition
    running: Condition
    evicted: Condition
    finished: Condition
    requeue_at: datetime | None
    requeues: int
    active: bool
    thing: Object

    @property
    def state(self) -> Literal["finished", "running", "admitted", "waiting"]:
        """Where it is on its way."""
        if self.finished.holds:
            return "finished"
        if self.reserved.holds:
            return "running" if self.running.holds else "admitted"
        return "waiting"

    @property
    def gpus(self) -> int:
        """GPUs that it requests."""
        return int(sum(pods.together.get(GPU_RESOURCE, 0) for pods in self.pods))

    @property
    def flavors(self) -> dict[str, set[str]]:
        """The flavors that it was admitted to last, by role."""
        admission = (self.thing.get("status") or {}).get("admission") or {}
        return {
            each["name"]: set((each.get("flavors") or {}).values()) for each in admission.get("podSetAssignments", ())
        }

    @property
    def admitted_by(self) -> str:
        """The ClusterQueue that has reserved its quota; empty without a reservation."""
        return str(((self.thing.get("status") or {}).get("admission") or {}).get("clusterQueue", ""))

    @property
    def ran_before(self) -> int:
        """Total seconds that it ran before it was stopped."""
        return int((self.thing.get("status") or {}).get("accumulatedPastExecutionTimeSeconds") or 0)

    def name_from(self, namespace: str) -> str:
        """Its name as seen from a namespace."""
        return self.name if self.namespace == namespace else f"{self.namespace}/{self.name}"


def works(objects: ClusterObjects) -> list[Work]:
    """The Workloads of all queues."""
    leads = {
        (q["metadata"]["namespace"], q["metadata"]["name"]): q["spec"]["clusterQueue"] for q in objects.local_queues
    }
    return [_work(thing, leads) for thing in objects.workloads]


def _work(thing: Object, leads: Mapping[tuple[str, str], str]) -> Work:
    about, spec, status = thing["metadata"], thing["spec"], thing.get("status") or {}
    owner = (about.get("ownerReferences") or [{"name": about["name"], "uid": about["uid"]}])[0]
    requeue = status.get("requeueState") or {}
    finished, queue = condition(thing, "Finished"), spec.get("queueName", "")
    return Work(
        name=owner["name"],
        namespace=about["namespace"],
        uid=about["uid"],
        owner=owner["uid"],
        queue=queue,
        cluster_queue=leads.get((about["namespace"], queue)),
        priority=spec.get("priority", 0),
        created=moment(about["creationTimestamp"]),
        pods=tuple(_pods(each) for each in spec["podSets"]),
        held={} if finished.holds else assigned(status.get("admission")),
        reserved=condition(thing, "QuotaReserved"),
        admitted=condition(thing, "Admitted"),
        running=condition(thing, "PodsReady"),
        evicted=condition(thing, "Evicted"),
        finished=finished,
        requeue_at=moment(requeue.get("requeueAt")),
        requeues=requeue.get("count", 0),
        active=spec.get("active", True),
        thing=thing,
    )


def assigned(admission: Object | None) -> dict[str, dict[str, float]]:
    """The quota of an admission, by flavor and resource."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for each in (admission or {}).get("podSetAssignments", ()):
        for resource, flavor in (each.get("flavors") or {}).items():
            found[flavor][resource] += amount((each.get("resourceUsage") or {}).get(resource, "0"))
    return found


def requests(pod: Object) -> dict[str, float]:
    """The total requests of the containers in a pod's spec."""
    requested: dict[str, float] = defaultdict(float)
    for container in pod["containers"]:
        resources = container.get("resources") or {}
        for name, text in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
            requested[name] += amount(text)
    return requested


def _pods(pod_set: Object) -> Pods:
    pod = pod_set["template"]["spec"]
    requested = requests(pod)
    tolerations = tuple(pod.get("tolerations") or ())
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    selector = pod.get("nodeSelector") or {}
    return Pods(pod_set["name"], pod_set.get("count", 1), requested, selector, tolerations, tuple(terms))


def flavor_names(flavors: Sequence[Object]) -> dict[str, str]:
    """The flavors' names for people, by object: tensorplane's own are named in their node label."""
    return {
        one["metadata"]["name"]: (one["spec"].get("nodeLabels") or {}).get(FLAVOR, one["metadata"]["name"])
        for one in flavors
    }


def queue_names(cluster_queues: Sequence[Object]) -> dict[str, str]:
    """The queues' names for people, by ClusterQueue: tensorplane's own have the name of the settings."""
    found = {}
    for one in cluster_queues:
        labels = one["metadata"].get("labels") or {}
        ours = labels.get(PART_OF) == TENSORPLANE[PART_OF]
        found[one["metadata"]["name"]] = labels.get(NAME, one["metadata"]["name"]) if ours else one["metadata"]["name"]
    return found


def queue_of(job_set: Object) -> str | None:
    """The LocalQueue that a job names."""
    found: str | None = (job_set["metadata"].get("labels") or {}).get(QUEUE_LABEL)
    return found
