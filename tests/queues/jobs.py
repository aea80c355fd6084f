"""JobSets as the stack's training jobs make them, in its queues, and what Kueue and the scheduler make of them."""

from __future__ import annotations

import datetime
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tensorplane.components import versions
from tensorplane.components.base.labels import FLAVOR, JOB_SET_NAME, PRIORITY_LABEL, QUEUE_LABEL
from tensorplane.components.base.model import Resources
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.components.queues import flavors, quota, topology
from tensorplane.components.queues.capacity import PodSet
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.manifest import cluster_queue_spec, cluster_wide_name, flavor_spec
from tensorplane.components.queues.settings import QueueArgs
from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.embedded.cluster.kwok import TAKES
from tensorplane.embedded.cluster.node_config import SANDBOX_IMAGE
from tensorplane.stack import ResolvedStack, StackConfig
from tensorplane.workloads.pods import pod
from tensorplane.workloads.training_job import job_set
from tensorplane.workloads.training_job.role import Role
from tests.support.waiting import eventually

Object = dict[str, Any]
JOB_SET = GVK.parse(versions.JOBSET_API, "JobSet")
WORKLOAD = GVK.parse(versions.KUEUE_API, "Workload")
POD = GVK("", "v1", "Pod")
WORKLOADS = f"/apis/{versions.KUEUE_API}/workloads"
_ROLE = "jobset.sigs.k8s.io/replicatedjob-name"
_ACCOUNT = "default"
"""A service account that every namespace has."""


@dataclass(frozen=True)
class ObservedJob:
    """What Kueue says of a job."""

    given: dict[str, str]
    """The kind of machine of each role; empty while it waits."""
    evictions: int
    since: tuple[float, str]
    moving: bool
    """Whether it is on its way out of what it holds."""


class Jobs:
    """The jobs of the tests in the cluster."""

    def __init__(self, kube: Kube, api: Objects, settings: StackConfig) -> None:
        self.kube, self.api, self.settings = kube, api, settings
        self.resolved = ResolvedStack.of(settings)
        self.stack = settings.namespace_name
        self._kinds = {
            cluster_wide_name(self.stack, kind.object_name): kind.name for kind in self.resolved.flavors.values()
        }

    @contextmanager
    def queues(self, settings: Mapping[str, QueueArgs], levels: tuple[str, ...] = ()) -> Iterator[None]:
        """More queues of the stack's namespace for a while. The machines are the same, so the others should be idle.

        `levels`: labels of the network's levels, where Kueue is to place the pods.
        """
        kinds = flavors.of(self.resolved.fleet, own_nodes=True, levels=levels)
        made = list(self._placed(kinds.values(), levels)) if levels else []
        for name, args in settings.items():
            spec = cluster_queue_spec(args, quota.of(args, kinds), self.stack, [self.stack])
            wide = cluster_wide_name(self.stack, name)
            made += [
                {"kind": "ClusterQueue", "metadata": {"name": wide}, "spec": spec},
                {
                    "kind": "LocalQueue",
                    "metadata": {"name": name, "namespace": self.stack},
                    "spec": {"clusterQueue": wide},
                },
            ]
        try:
            for each in made:
                self.api.apply({"apiVersion": versions.KUEUE_API, **each}, manager="test")
            yield
        finally:
            self.clear()
            for each in reversed(made):
                at = each["metadata"]
                self.api.delete(GVK.parse(versions.KUEUE_API, each["kind"]), at["name"], at.get("namespace"))
            # Kueue keeps them until nothing uses them; another block may make some of the same names.
            eventually(lambda: not any(map(self._exists, made)))

    def _exists(self, thing: Object) -> bool:
        at = thing["metadata"]
        try:
            self.api.get(GVK.parse(versions.KUEUE_API, thing["kind"]), at["name"], at.get("namespace"))
        except ApiError as error:
            if error.not_found:
                return False
            raise
        return True

    def _placed(self, kinds: Iterable[Flavor], levels: Sequence[str]) -> Iterator[Object]:
        """The kinds of machines as Kueue has them when it knows levels of the network."""
        yield {
            "kind": "Topology",
            "metadata": {"name": topology.object_name(self.stack, levels)},
            "spec": topology.spec(levels),
        }
        for kind in kinds:
            name = cluster_wide_name(self.stack, kind.object_name)
            self._kinds[name] = kind.name
            if kind.levels:
                yield {
                    "kind": "ResourceFlavor",
                    "metadata": {"name": name},
                    "spec": flavor_spec(kind, self.stack),
                }

    def create(
        self,
        name: str,
        of_queue: str,
        pod_sets: Sequence[PodSet],
        *,
        namespace: str = "",
        priority: str = "",
        takes: str = "24h",
        near: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """A job whose simulated pods take that long, or end when told to; those without GPUs are real, and do nothing.

        `priority`: the queue whose class it has, where its own has none. `near`: how near its pods must be.
        """
        roles = {pods.role: pods for pods in pod_sets}

        def template(role: Role) -> Object:
            pods = roles[role.name]
            placement = node_placement.spec(
                self.resolved.fleet,
                pods.resources,
                interruptible=pods.interruptible,
                synchronous=pods.together,
                queued=True,
            )
            container = pod.Container(image=SANDBOX_IMAGE, resources=pods.resources)
            told = {**near, TAKES: takes} if pods.resources.gpus else {TAKES: takes}
            return pod.template(
                _ACCOUNT,
                {},
                container,
                grace_seconds=1,
                restart_policy="Never",
                placement=placement,
                annotations=told,
            )

        labels = {
            QUEUE_LABEL: of_queue,
            PRIORITY_LABEL: cluster_wide_name(self.stack, priority or of_queue),
        }
        made = job_set.spec(
            name,
            [
                Role(pods.role, pods.count, pods.resources, required_for_success=bool(pods.resources.gpus))
                for pods in pod_sets
            ],
            template,
            max_restarts=0,
        )
        metadata = {"name": name, "namespace": namespace or self.stack, "labels": labels}
        self.api.create(
            {"apiVersion": versions.JOBSET_API, "kind": "JobSet", "metadata": metadata, "spec": made}, manager="test"
        )

    def admitted(self, name: str, of_queue: str, pod_sets: Sequence[PodSet], **more: Any) -> None:
        """The same, until it is admitted."""
        self.create(name, of_queue, pod_sets, **more)
        eventually(lambda: self.holds_quota(name))

    def refusal(self, thing: Object) -> str:
        """Why the API server would refuse to create it; nothing where it would not."""
        try:
            self.api.create(thing, manager="test", dry_run=True)
        except ApiError as error:
            return str(error)
        return ""

    def delete(self, name: str, namespace: str = "") -> None:
        """Takes a job away."""
        try:
            self.api.delete(JOB_SET, name, namespace or self.stack)
        except ApiError as error:
            if not error.not_found:
                raise

    def finish(self, name: str, count: int, *, role: str = "") -> bool:
        """Lets a job's simulated pods come to their end, or those of a role; False where not all of them run yet."""
        machines = self._machines()
        found = (
            each
            for each in self.pods(name)
            if role in ("", each["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"])
        )
        pods = [each for each in found if each["spec"]["nodeName"] in machines]
        if not 0 < len(pods) == count or any(each["status"]["phase"] != "Running" for each in pods):
            return False
        for each in pods:
            at = each["metadata"]
            body = {"metadata": {"annotations": {TAKES: "1ms"}}}
            self.api.patch(POD, at["name"], at["namespace"], body, manager="test")
        return True

    def clear(self) -> None:
        """Takes all jobs away."""
        for each in self.kube.items(f"/apis/{versions.JOBSET_API}/jobsets"):
            self.delete(each["metadata"]["name"], each["metadata"]["namespace"])

    def are_gone(self) -> bool:
        """Whether nothing is left of any job."""
        of_job_sets = ("/apis/batch/v1/jobs", "/api/v1/pods")
        left = (self.kube.items(path, labelSelector=JOB_SET_NAME) for path in of_job_sets)
        return not self.kube.items(WORKLOADS) and not any(left)

    def observed(self) -> dict[str, ObservedJob]:
        """The jobs that Kueue knows of and that are not done."""
        found = self.kube.items(WORKLOADS)
        return {owner(each): self._observed(each) for each in found if owner(each) and not is_so(each, "Finished")}

    def holds_quota(self, name: str) -> bool:
        """Whether Kueue knows the job, which takes it a moment, and has admitted it."""
        found = self.observed().get(name)
        return found is not None and bool(found.given)

    def workload(self, name: str) -> Object:
        """Kueue's object for a job."""
        (found,) = (one for one in self.kube.items(WORKLOADS) if owner(one) == name)
        return found

    def history(self, seconds: float) -> Iterator[tuple[str, Object]]:
        """The workloads of the stack's namespace at every revision from now on; ends after the time.

        GAP where revisions are missing, because the API server no longer has them: what exists follows as ADDED.
        """
        path = f"/apis/{versions.KUEUE_API}/namespaces/{self.stack}/workloads"
        known: dict[str, Object] = {}
        version, end = "", time.monotonic() + seconds
        while time.monotonic() < end:
            if not version:
                listed = self.kube.get(path) or {}
                version, present = listed["metadata"]["resourceVersion"], {_name(one): one for one in listed["items"]}
                yield "GAP", {}
                yield from (("DELETED", known[name]) for name in known.keys() - present.keys())
                yield from (("ADDED", one) for one in present.values())
                known = present
            for line in self.kube.lines(path, watch="true", resourceVersion=version, timeoutSeconds="60"):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    version = ""
                    break
                workload = event["object"]
                version = workload["metadata"]["resourceVersion"]
                known[_name(workload)] = workload
                yield event["type"], workload
                if event["type"] == "DELETED":
                    del known[_name(workload)]

    def _observed(self, workload: Object) -> ObservedJob:
        status = workload.get("status", {})
        assigned = status.get("admission", {}).get("podSetAssignments", [])
        given = {each["name"]: self._kind(each) for each in assigned}
        stops = [
            each["count"]
            for each in status.get("schedulingStats", {}).get("evictions", [])
            if each["reason"] == "Preempted"
        ]
        return ObservedJob(
            given,
            sum(stops),
            (_since(workload), workload["metadata"]["uid"]),
            moving=bool(given) and (is_so(workload, "Evicted") or not is_so(workload, "Admitted")),
        )

    def _kind(self, assignment: Object) -> str:
        """All resources of a pod are those of one machine."""
        [flavor] = set(assignment["flavors"].values())
        return self._kinds[flavor]

    def held(self, workload: Object) -> Counter[str]:
        """The GPUs that a workload holds, by kind of machine, until all its pods have ended."""
        found: Counter[str] = Counter()
        status = workload.get("status", {})
        if is_so(workload, "Finished"):
            return found
        for each in status.get("admission", {}).get("podSetAssignments", []):
            found[self._kind(each)] += int(each["resourceUsage"].get(GPU_RESOURCE, 0))
        return found

    def pods(self, of_job: str = "") -> list[Object]:
        """The pods of jobs that have a node."""
        selector = f"{JOB_SET_NAME}={of_job}" if of_job else JOB_SET_NAME
        found = self.kube.items("/api/v1/pods", labelSelector=selector)
        return [each for each in found if each["spec"].get("nodeName")]

    def nodes(self, of_job: str) -> list[str]:
        """The node of each of its pods."""
        return [each["spec"]["nodeName"] for each in self.pods(of_job)]

    def running(self) -> Counter[str]:
        """How many pods of each job have a node, those that are done among them."""
        return Counter(each["metadata"]["labels"][JOB_SET_NAME] for each in self.pods())

    def landed(self) -> Iterator[tuple[str, str, str]]:
        """The job, the role and the kind of machine of each pod."""
        machines = self._machines()
        for each in self.pods():
            labels = each["metadata"]["labels"]
            yield labels[JOB_SET_NAME], labels[_ROLE], machines.get(each["spec"]["nodeName"], "cpu")

    def _machines(self) -> Mapping[str, str]:
        """The kind of each simulated node."""
        nodes = self.kube.items("/api/v1/nodes", labelSelector="type=kwok")
        return {node["metadata"]["name"]: node["metadata"]["labels"][FLAVOR] for node in nodes}


def next_second() -> None:
    """Waits for it. Kueue tells jobs of the same second apart by their UIDs, which nobody can know before."""
    now = int(time.time())
    while int(time.time()) == now:
        time.sleep(0.02)


def workers(count: int, gpus: int, *, card: str | None = None, role: str = "worker") -> PodSet:
    """Pods with GPUs. What else they ask for is less than comes with the GPUs: those are what quotas count."""
    resources = Resources(cpus=0.5 * gpus, memory_gib=gpus, gpus=gpus, accelerator=card)
    return PodSet(role, count, resources, together=count > 1, interruptible=True)


def chief() -> PodSet:
    """A pod without GPUs, as parameter servers' coordinators are."""
    return PodSet("chief", 1, Resources(cpus=0.1, memory_gib=0.05), together=False, interruptible=True)


def owner(workload: Object) -> str:
    """The job of a workload; nothing where it is of no JobSet."""
    owners = workload["metadata"].get("ownerReferences", [])
    return next((str(each["name"]) for each in owners if each["kind"] == "JobSet"), "")


def is_so(workload: Object, condition: str) -> bool:
    """Whether a workload is in this condition."""
    return any(
        each["type"] == condition and each["status"] == "True"
        for each in workload.get("status", {}).get("conditions", [])
    )


def _name(thing: Object) -> str:
    return str(thing["metadata"]["name"])


def _since(workload: Object) -> float:
    times = [
        each["lastTransitionTime"]
        for each in workload.get("status", {}).get("conditions", [])
        if each["type"] == "QuotaReserved"
    ]
    return datetime.datetime.fromisoformat(times[0]).timestamp() if times else 0
