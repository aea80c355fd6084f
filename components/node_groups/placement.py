"""The parts of a pod's spec that select nodes: selector, tolerations, affinity, RuntimeClass."""

from collections.abc import Iterator
from typing import Any

from tensorplane.components.base.labels import ACCELERATOR, FLAVOR, NO_ACCELERATOR, NODE_GROUP, PLUGIN_CONFIG
from tensorplane.components.base.model import Resources
from tensorplane.components.catalog import GPU_RESOURCE, resource_of
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.matching import most_per_pod, requested, tolerated_taints
from tensorplane.components.node_groups.taint import accelerator_taint

# A pod can only have one share of a GPU: the device plugin refuses a request for two.
_WHOLE_GPUS = {"key": PLUGIN_CONFIG, "operator": "DoesNotExist"}


def spec(
    fleet: Fleet, resources: Resources, *, interruptible: bool, synchronous: bool = False, queued: bool = False
) -> dict[str, Any]:
    """The parts of the spec that are set.

    `synchronous`: the pod computes every step together with others, so that its GPUs must not be time-sliced. `queued`:
    Kueue chooses the flavor, and the selector must name the flavor of a named group.
    """
    terms: list[dict[str, Any]] = (
        [_WHOLE_GPUS] if fleet.shares_gpus and _takes_whole_gpus(resources, synchronous) else []
    )
    if len(resources.accelerators) > 1:
        terms.append({"key": ACCELERATOR, "operator": "In", "values": sorted(resources.accelerators)})
    if queued and not resources.node_group:
        terms += _wide_enough(fleet, resources)
    parts = {
        "nodeSelector": _selector(fleet, resources, queued),
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": effect}
            for key, effect in sorted(tolerated(fleet, resources, interruptible=interruptible))
        ],
        "affinity": _on_nodes(terms) if terms else None,
        "runtimeClassName": fleet.runtime_class if _has_gpus(resources) else None,
    }
    return {key: value for key, value in parts.items() if value}


def _has_gpus(resources: Resources) -> bool:
    """Whether the pod's accelerators are GPUs, not TPU chips."""
    return resources.gpus > 0 and resource_of(resources.accelerators) == GPU_RESOURCE


def _takes_whole_gpus(resources: Resources, synchronous: bool) -> bool:
    return _has_gpus(resources) and (resources.gpus > 1 or synchronous)


def _selector(fleet: Fleet, resources: Resources, queued: bool) -> dict[str, str]:
    selector: dict[str, str] = {}
    if len(resources.accelerators) == 1:
        selector[ACCELERATOR] = resources.accelerators[0]
    if resources.node_group:
        selector[NODE_GROUP] = resources.node_group
    if shape := fleet.groups.get(resources.node_group or ""):
        selector |= shape.selector
        if queued:
            selector[FLAVOR] = shape.flavor
        return selector
    if len(having := fleet.offering(resources)) == 1:
        selector |= having[0].selector
    if queued and not resources.gpus and fleet.gpu_models:
        # Kueue adds the tolerations of the flavor that it assigns: a pod without GPUs must not occupy GPU nodes.
        selector[ACCELERATOR] = NO_ACCELERATOR
    return selector


def tolerated(fleet: Fleet, resources: Resources, *, interruptible: bool) -> set[tuple[str, str]]:
    """Key and effect of each taint that a pod tolerates."""
    taints = {accelerator_taint(resource_of(resources.accelerators))} if resources.gpus else set()
    if shape := fleet.groups.get(resources.node_group or ""):
        taints |= tolerated_taints(shape, resources.gpus, interruptible, by_name=True)
        taints |= {(taint.key, taint.effect) for taint in shape.args.taints}
    else:
        for request in requested(resources):
            taints |= fleet.open_taints.get((request, interruptible), set())
    return taints


def _wide_enough(fleet: Fleet, resources: Resources) -> Iterator[dict[str, Any]]:
    """Flavors with enough GPUs per node, if other flavors of the pod have fewer.

    A quota is a number of GPUs: without this, Kueue could assign a pod with 8 GPUs to nodes with 4.
    """
    most: dict[str, int] = {}
    for shape in fleet.offering(resources) if resources.gpus else ():
        most[shape.flavor] = max(most.get(shape.flavor, 0), most_per_pod(shape))
    wide = sorted(flavor for flavor, gpus in most.items() if gpus >= resources.gpus)
    if 0 < len(wide) < len(most):
        yield {"key": FLAVOR, "operator": "In", "values": wide}


def _on_nodes(expressions: list[dict[str, Any]]) -> dict[str, Any]:
    """Node affinity that requires all expressions."""
    terms = [{"matchExpressions": expressions}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
