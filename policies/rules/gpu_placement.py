"""Placement: pods with GPUs on nodes with GPUs, all others elsewhere, and the plugins' DaemonSets on every node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from gpu_usage import accelerators
from gpu_usage.manifest import part
from stack_view import node_groups, placement, pods
from stack_view.node_groups import Group, Taint
from stack_view.rule import Config, Finding, Rule, Severity, of_each
from stack_view.schemas import EXEMPT_NAMESPACES, strings
from stack_view.view import Resource, View, at, known, maps

_GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")
# GKE taints nodes with accelerators, and lets pods that request them tolerate it.
_TAINTED_BY_GKE = "gcp:container/nodePool:NodePool"
_DAEMON = ("apps", "DaemonSet")
_FLAVOR = ("kueue.x-k8s.io", "ResourceFlavor")
_QUEUE_NAME = "kueue.x-k8s.io/queue-name"
_PULUMI_RELEASE = "helm.sh"
# Where charts of DaemonSets have their tolerations.
_OF_CHARTS: Mapping[str, tuple[str, ...]] = {
    "nvidia-device-plugin": (),
    "dcgm-exporter": (),
    "gpu-operator": ("daemonsets",),
}


def _on_gpu_nodes(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    groups = node_groups.groups(view)
    having = [each for each in groups if each.gpus]
    for pod in pods.of(resource) if having else ():
        more = _of_queue(resource, view)
        if pod.gpus and not any(placement.takes(each, pod.spec, groups, more) for each in having):
            problem = f"`{pod.dotted_path}` requests {pod.gpus} accelerators, and no node group that has them takes it"
            yield Finding(problem, _why(pod, having, groups))


def _why(pod: pods.Pod, having: list[Group], groups: list[Group]) -> str:
    """What to change, by the group that is nearest."""
    selected = [each for each in having if placement.selects(pod.spec, each, groups)]
    if not selected:
        return f"let its nodeSelector and affinity allow one of {', '.join(each.name for each in having)}"
    taints = placement.refusing(selected[0], pod.spec)
    return f"tolerate {' and '.join(f'{one.key}={one.value}:{one.effect}' for one in taints)} of {selected[0].name}"


def _of_queue(resource: Resource, view: View) -> list[Mapping[str, Any]]:
    """The tolerations that Kueue adds with the flavor of a job."""
    if at(resource.body, "metadata", "labels", _QUEUE_NAME) is None:
        return []
    return [one for _, flavor in view.kinds(_FLAVOR) for one in maps(flavor.body, "spec", "tolerations")]


def _off_gpu_nodes(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest is None or manifest.type == _DAEMON or resource.namespace in config["exemptNamespaces"]:
        return
    groups = node_groups.groups(view)
    having = [each for each in groups if each.gpus and each.taints]
    for pod in pods.of(resource):
        taken = [each.name for each in having if placement.takes(each, pod.spec, groups)]
        blind = any(placement.tolerates(one, _GPU_TAINT) for one in maps(pod.spec, "tolerations"))
        if not pod.gpus and (taken or (blind and not groups)):
            nodes = ", ".join(taken) or "nodes with GPUs"
            problem = f"`{pod.dotted_path}` requests no accelerator and tolerates the taints of {nodes}"
            yield Finding(problem, "remove the toleration: it takes CPUs and memory that jobs with GPUs wait for")


def _tainted(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    for each in node_groups.groups(view):
        is_tainted = each.resource.type == _TAINTED_BY_GKE or any(
            accelerators.is_named(taint.key) for taint in each.taints
        )
        if each.gpus and not is_tainted:
            problem = "its nodes have accelerators and no taint for them, so that every pod may fill them"
            yield each.resource, Finding(problem, f"add the taint {_GPU_TAINT.key}=present:{_GPU_TAINT.effect}")


def _limits(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for pod in pods.of(resource):
        for path, one in pod.containers():
            resources = part(one, "resources", pod.path)
            requests, limits = known(resources, "requests") or {}, known(resources, "limits") or {}
            for name in filter(accelerators.is_asked, sorted({*requests, *limits})):
                limit = _written(limits.get(name, "none"))
                request = _written(requests[name]) if name in requests else limit
                if limit != request:
                    problem = f"`{path}.resources` requests {request} {name} with a limit of {limit}"
                    yield Finding(problem, "write the number into `limits` alone: both must be equal")


def _written(quantity: Any) -> str:
    """As in a manifest: the engine makes 1.0 of the number 1."""
    return f"{quantity:.12g}" if isinstance(quantity, float) else str(quantity)


def _daemons(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    groups = node_groups.groups(view)
    for spec in _specs(resource, config):
        for each in groups:
            missing = placement.refusing(each, spec)
            if each.gpus and placement.selects(spec, each, groups) and missing:
                taints = " and ".join(f"{one.key}={one.value}:{one.effect}" for one in missing)
                problem = f"it does not run on the nodes of {each.name}, whose taint {taints} it does not tolerate"
                yield Finding(problem, "add the toleration: without it, their accelerators cannot be requested or seen")


def _specs(resource: Resource, config: Config) -> Iterator[Mapping[str, Any]]:
    """What places a DaemonSet that every node with accelerators needs: its pods, or its chart's values."""
    manifest = resource.manifest
    if manifest and manifest.type == _DAEMON and any(fnmatchcase(resource.name, each) for each in config["names"]):
        yield from (pod.spec for pod in pods.of(resource))
    if manifest and manifest.group == _PULUMI_RELEASE:
        chart = str(known(manifest.body, "chart")).rpartition("/")[2]
        if chart in _OF_CHARTS:
            yield known(manifest.body, "values", *_OF_CHARTS[chart]) or {}


_TAGS = ["gpu", "placement"]

POLICIES = [
    Rule(
        of_each(_on_gpu_nodes),
        name="gpu-pods-on-gpu-nodes",
        description="Every pod with GPUs may run on a node group that has them.",
        remedy="Tolerate the group's taints, and select nothing that excludes it.",
        severity=Severity.HIGH,
        tags=_TAGS,
    ),
    Rule(
        of_each(_off_gpu_nodes),
        name="cpu-pods-off-gpu-nodes",
        description="No pod without GPUs tolerates the taints of nodes with GPUs, except DaemonSets.",
        remedy="Remove the toleration.",
        severity=Severity.MEDIUM,
        tags=_TAGS,
        config=EXEMPT_NAMESPACES,
    ),
    Rule(
        _tainted,
        name="gpu-nodes-tainted",
        description="Nodes with accelerators have a taint that keeps other pods out.",
        remedy="Add the accelerator's taint to the node group.",
        severity=Severity.MEDIUM,
        tags=_TAGS,
    ),
    Rule(
        of_each(_limits),
        name="gpu-limits",
        description="Requests and limits of accelerators are equal.",
        remedy="Write the number into resources.limits alone.",
        severity=Severity.MEDIUM,
        tags=_TAGS,
    ),
    Rule(
        of_each(_daemons),
        name="gpu-daemonsets",
        description="DaemonSets that nodes with accelerators need (`names`, NVIDIA's charts) tolerate their taints.",
        remedy="Add the toleration.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config={"names": strings("*device-plugin*", "*dcgm*", "*gpu-feature-discovery*")},
    ),
]
