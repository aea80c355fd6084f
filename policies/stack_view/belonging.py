"""To whom requests of GPUs belong: namespaces, teams, priorities, accelerators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_usage.manifest import UNKNOWN, UncountableError

from stack_view import node_groups, placement, pods, registered
from stack_view.node_groups import Group
from stack_view.view import Seen, View, at, known

NONE = "none"
"""The group of what has no team, queue or named accelerator."""
_NOTEBOOK = "tensorplane:index:Notebook"
_PIPELINE = "tensorplane:index:Pipeline"
_QUEUE = "tensorplane:index:Queue"
_QUEUE_NAME = "kueue.x-k8s.io/queue-name"
# Labels of nodes by which pods choose an accelerator where the stack has no node groups.
_CHOICES = ("tensorplane.dev/accelerator", "cloud.google.com/gke-accelerator", "nvidia.com/gpu.product")


@dataclass(frozen=True)
class Owners:
    """What is looked up to find an owner."""

    view: View
    children: Mapping[str, list[Seen]]
    groups: list[Group]

    @classmethod
    def of(cls, view: View) -> Owners:
        """The owners in a stack."""
        children: dict[str, list[Seen]] = defaultdict(list)
        for seen in view.all:
            if seen.parent:
                children[seen.parent.urn].append(seen)
        return cls(view, children, node_groups.groups(view))

    def below(self, seen: Seen) -> Iterator[Seen]:
        """The resource and all that it made."""
        yield seen
        for child in self.children[seen.urn]:
            yield from self.below(child)

    def pods(self, seen: Seen) -> list[pods.Pod]:
        """The pods with accelerators of a resource, or of what it made."""
        return [pod for each in self.below(seen) for pod in pods.of(each) if pod.gpus]

    def objects(self, seen: Seen) -> list[Seen]:
        """The objects that have these pods; if none is known, what the resource made in a namespace, or itself."""
        below = [one for one in self.below(seen) if one.namespace]
        return [pod.seen for pod in self.pods(seen)] or below or [seen]


def namespaces(owners: Owners, seen: Seen, config: Mapping[str, Any]) -> set[str]:
    """The namespaces of a resource's pods."""
    return {_namespace(one) for one in owners.objects(seen)}


def _namespace(one: Seen) -> str:
    """Of an object, or of a notebook, whose objects are not of the stack."""
    own = registered.of(one, "namespace") if one.type == _NOTEBOOK else one.namespace
    return _plain(own or "default", "metadata.namespace")


def teams(owners: Owners, seen: Seen, config: Mapping[str, Any]) -> set[str]:
    """The teams of a resource's pods."""
    return {_team(owners, one, config["label"]) for one in owners.objects(seen)}


def _team(owners: Owners, one: Seen, label: str) -> str:
    own = at(one.body, "metadata", "labels", label)
    namespace = _namespace(one)
    of_namespace = [
        at(manifest.body, "metadata", "labels", label)
        for _, manifest in owners.view.kinds(("core", "Namespace"))
        if manifest.metadata("name") == namespace
    ]
    named = [*filter(None, [own, *of_namespace])]
    if named:
        return _plain(named[0], f"metadata.labels.{label}")
    return registered.teams(owners.view).get(namespace, NONE)


def priorities(owners: Owners, seen: Seen, config: Mapping[str, Any]) -> set[str]:
    """The priorities of a resource's queues."""
    queues = _registered(seen) or [at(one.body, "metadata", "labels", _QUEUE_NAME) for one in owners.objects(seen)]
    of_stack = {queue.name: queue for queue in owners.view.of(_QUEUE)}
    found = [of_stack.get(_plain(each, f"metadata.labels.{_QUEUE_NAME}")) for each in queues]
    return {str(registered.of(queue, "priority")) if queue else NONE for queue in found} or {NONE}


def _registered(seen: Seen) -> list[Any]:
    """The queues that a workload of tensorplane registers: one, or those of a pipeline's stages with GPUs."""
    if seen.type == _PIPELINE:
        return list(registered.of(seen, "queues"))
    queue = known(seen.body, "queue") if seen.type.startswith("tensorplane:") else None
    return [queue] if queue else []


def accelerators(owners: Owners, seen: Seen, config: Mapping[str, Any]) -> set[str]:
    """The accelerators that a resource's pods may get."""
    return {each for pod in owners.pods(seen) for each in _accelerators(owners, pod)} or {NONE}


def _accelerators(owners: Owners, pod: pods.Pod) -> set[str]:
    having = [each for each in owners.groups if each.gpus]
    if having:
        return {each.accelerator for each in having if placement.selects(pod.spec, each, owners.groups)}
    wanted = known(pod.spec, "nodeSelector") or {}
    return {_plain(wanted[key], f"{pod.where}.nodeSelector.{key}") for key in _CHOICES if key in wanted} or {NONE}


def _plain(value: Any, key: str) -> str:
    if value is UNKNOWN:
        problem = f"`{key}` is not known before the update, so whose GPUs these are is not known either"
        raise UncountableError(problem, "write it as a plain value")
    return str(value)
