"""Spot nodes: for work that survives their end, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from gpu_usage import accelerators
from stack_view import argo, node_groups, placement, pods
from stack_view.node_groups import Taint
from stack_view.rule import Config, Finding, Rule, Severity, of_each
from stack_view.schemas import strings
from stack_view.view import Resource, View, at, known, maps

_DAEMON = ("apps", "DaemonSet")
_TAINTS = (
    Taint("tensorplane.dev/spot", "true", "NoSchedule"),
    Taint("cloud.google.com/gke-spot", "true", "NoSchedule"),
    Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule"),
)
_SAVES = "CHECKPOINT_DIR"
_READS = ("tensorplane:index:Recorder", "tensorplane:index:Scorer")
"""Components whose pods go on where they have committed their stream."""
_TRIED_AGAIN = ("Always", "OnError")
"""Argo's policies for a pod whose node was lost, which is an error and no failure."""


def _interruptible(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest is None or manifest.type == _DAEMON or _reads(resource) or _is_listed(resource, config):
        return
    groups = node_groups.groups(view)
    spot = [each for each in groups if each.spot]
    for pod in pods.of(resource):
        tolerations = maps(pod.spec, "tolerations")
        blind = any(at(one, "key") == taint.key for one in tolerations for taint in _TAINTS)
        taken = [each.name for each in spot if placement.takes(each, pod.spec, groups)]
        if (taken or (blind and not groups)) and not (_saves(pod) or _is_tried_again(pod)):
            nodes = f"nodes of {', '.join(taken)}" if taken else "spot nodes"
            problem = (
                f"`{pod.dotted_path}` may run on {nodes}, which the cloud may take at any time, "
                "and saves no checkpoints"
            )
            remedy = "set CHECKPOINT_DIR (`checkpoints`), remove the toleration, or list it in `interruptible`"
            yield Finding(problem, f"{remedy} in {view.config}")


def _saves(pod: pods.Pod) -> bool:
    return any(at(one, "name") == _SAVES for _, container in pod.containers() for one in maps(container, "env"))


def _is_tried_again(pod: pods.Pod) -> bool:
    """Whether it is a template of Argo that runs again on another node."""
    strategy = known(pod.spec, "retryStrategy") if pod.manifest.type in argo.KINDS else None
    return at(strategy or {}, "retryPolicy") in _TRIED_AGAIN and at(strategy or {}, "limit") not in (0, "0")


def _reads(resource: Resource) -> bool:
    return resource.parent is not None and resource.parent.type in _READS


def _is_listed(resource: Resource, config: Config) -> bool:
    name = f"{resource.namespace}/{at(resource.body, 'metadata', 'name')}"
    return any(fnmatchcase(name, each) for each in config["interruptible"])


def _tainted(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    for each in node_groups.groups(view):
        if each.spot and all(accelerators.is_named(taint.key) for taint in each.taints):
            problem = "its spot nodes have no taint, so that every pod may run there and end with them"
            yield each.resource, Finding(problem, "add the taint tensorplane.dev/spot=true:NoSchedule")


POLICIES = [
    Rule(
        of_each(_interruptible),
        name="spot-interruptible",
        description=(
            "On spot nodes run only pods that save checkpoints, read a stream or are tried again by Argo, DaemonSets,"
            " and those in `interruptible`."
        ),
        remedy="Set checkpoints, or remove the toleration.",
        severity=Severity.HIGH,
        tags=["spot"],
        config={"interruptible": strings()},
    ),
    Rule(
        _tainted,
        name="spot-nodes-tainted",
        description="Spot nodes have a taint, so that only pods that tolerate it run there.",
        remedy="Add the taint of spot nodes.",
        severity=Severity.MEDIUM,
        tags=["spot"],
    ),
]
