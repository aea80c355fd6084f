"""To whom requests of GPUs are attributed: namespaces, teams, priorities, accelerators."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_usage.manifest import UNKNOWN, UncountableError
from gpu_usage.usage import WORKLOADS

from stack_view import node_groups, placement, pods, registered
from stack_view.node_groups import Group
from stack_view.view import Resource, View, at, known

NO_GROUP = "none"
"""The group of what has no team, queue or named accelerator."""
_NOTEBOOK = "tensorplane:index:Notebook"
_QUEUE = "tensorplane:index:Queue"
_QUEUE_NAME = "kueue.x-k8s.io/queue-name"
# Labels of nodes by which pods choose an accelerator where the stack has no node groups.
_CHOICES = ("tensorplane.dev/accelerator", "cloud.google.com/gke-accelerator", "nvidia.com/gpu.product")


@dataclass(frozen=True)
class Owners:
    """What is looked up to find an owner."""

    view: View
    children: Mapping[str, list[Resource]]
    groups: list[Group]

    @classmethod
    def of(cls, view: View) -> Owners:
        """The owners in a stack."""
        children: dict[str, list[Resource]] = defaultdict(list)
        for resource in view.all:
            if resource.parent:
                children[resource.parent.urn].append(resource)
        return cls(view, children, node_groups.groups(view))

    def below(self, resource: Resource) -> Iterator[Resource]:
        """The resource and all that it made."""
        yield resource
        for child in self.children[resource.urn]:
            yield from self.below(child)

    def pods(self, resource: Resource) -> list[pods.Pod]:
        """The pods with accelerators of a resource, or of what it made."""
        return [pod for each in self.below(resource) for pod in pods.of(each) if pod.gpus]

    def objects(self, resource: Resource) -> list[Resource]:
        """The objects that have these pods; if none is known, what the resource made in a namespace, or itself."""
        below = [one for one in self.below(resource) if one.namespace]
        return [pod.resource for pod in self.pods(resource)] or below or [resource]


def namespaces(owners: Owners, resource: Resource, gpus: int, config: Mapping[str, Any]) -> Mapping[str, int]:
    """GPUs by the namespaces of a resource's pods. Here and below, where it does not tell a part, each has them all."""
    return dict.fromkeys((_namespace(one) for one in owners.objects(resource)), gpus)


def _namespace(one: Resource) -> str:
    """Of an object, or of a notebook, whose objects are not of the stack."""
    own = registered.of(one, "namespace") if one.type == _NOTEBOOK else one.namespace
    return _plain(own or "default", "metadata.namespace")


def teams(owners: Owners, resource: Resource, gpus: int, config: Mapping[str, Any]) -> Mapping[str, int]:
    """GPUs by the teams of a resource's pods."""
    of_job = known(resource.body, "team") if resource.type in WORKLOADS else None
    return dict.fromkeys(
        (_team(owners, one, config["label"]) or of_job or NO_GROUP for one in owners.objects(resource)), gpus
    )


def _team(owners: Owners, one: Resource, label: str) -> str | None:
    own = at(one.body, "metadata", "labels", label)
    namespace = _namespace(one)
    of_namespace = [
        at(manifest.body, "metadata", "labels", label)
        for _, manifest in owners.view.kinds(("core", "Namespace"))
        if manifest.metadata("name") == namespace
    ]
    teams_named = [*filter(None, [own, *of_namespace])]
    if teams_named:
        return _plain(teams_named[0], f"metadata.labels.{label}")
    return registered.teams(owners.view).get(namespace)


def priorities(owners: Owners, resource: Resource, gpus: int, config: Mapping[str, Any]) -> Mapping[str, int]:
    """GPUs by the priorities of a resource's queues."""
    if resource.type in WORKLOADS:
        return _registered(resource, lambda request: [request["priority"]])
    queues = {queue.name: queue for queue in owners.view.of(_QUEUE)}
    queues_named = [at(one.body, "metadata", "labels", _QUEUE_NAME) for one in owners.objects(resource)]
    found = [queues.get(_plain(each, f"metadata.labels.{_QUEUE_NAME}")) for each in queues_named]
    return dict.fromkeys((str(registered.of(queue, "priority")) if queue else NO_GROUP for queue in found), gpus)


def accelerators(owners: Owners, resource: Resource, gpus: int, config: Mapping[str, Any]) -> Mapping[str, int]:
    """GPUs by the accelerators that a resource's pods may get."""
    if resource.type in WORKLOADS:
        return _registered(resource, lambda request: request["accelerators"])
    return dict.fromkeys(
        {each for pod in owners.pods(resource) for each in _accelerators(owners, pod)} or {NO_GROUP}, gpus
    )


def _registered(workload: Resource, groups: Callable[[Mapping[str, Any]], list[str]]) -> Mapping[str, int]:
    """GPUs by the groups of the requests that a workload registers."""
    found: Counter[str] = Counter()
    for request in registered.of(workload, "requests"):
        for group in [*filter(None, groups(request))] or [NO_GROUP]:
            found[group] += int(request["gpus"])
    return found


def _accelerators(owners: Owners, pod: pods.Pod) -> set[str]:
    having = [each for each in owners.groups if each.gpus]
    if having:
        return {each.accelerator for each in having if placement.selects(pod.spec, each, owners.groups)}
    wanted = known(pod.spec, "nodeSelector") or {}
    return {_plain(wanted[key], f"{pod.dotted_path}.nodeSelector.{key}") for key in _CHOICES if key in wanted} or {
        NO_GROUP
    }


def _plain(value: Any, key: str) -> str:
    if value is UNKNOWN:
        problem = f"`{key}` is not known before the update, so whose GPUs these are is not known either"
        raise UncountableError(problem, "write it as a plain value")
    return str(value)
