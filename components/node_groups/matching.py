"""Matches requests of pods with node groups."""

from tensorplane.components.base.labels import NO_ACCELERATOR, SIMULATED
from tensorplane.components.base.model import Resources
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.node_groups.taint import Taint

SPOT = "spot, for training jobs with checkpoints only"
"""Why a pod that loses its work when it is interrupted cannot run on a group."""
_ANY_GPU = "any"


def requested(resources: Resources) -> tuple[str, ...]:
    """The accelerators that a pod may get: some by name, any GPU, or none."""
    return (resources.accelerators or (_ANY_GPU,)) if resources.gpus else (NO_ACCELERATOR,)


def offered(shape: Shape) -> tuple[str, ...]:
    """The requests that the group's nodes can satisfy."""
    if shape.accelerator is None:
        return (NO_ACCELERATOR,)
    return (shape.accelerator.name, _ANY_GPU) if shape.accelerator.counts_as_gpu else (shape.accelerator.name,)


def most_per_pod(shape: Shape) -> int:
    """Maximum number of accelerators of one pod."""
    return 1 if shape.args.sharing else shape.per_node


def keeping_off(shape: Shape, interruptible: bool) -> str:
    """Why a pod without a node group cannot run on this one, although its request matches; else empty."""
    if shape.args.spot and not interruptible:
        return SPOT
    taint = shape.own_taint
    return f"taint {taint.key}, tolerated with nodeGroup: {shape.name}" if taint else ""


def tolerated_taints(shape: Shape, gpus: int, interruptible: bool, *, by_name: bool = False) -> set[tuple[str, str]]:
    """Key and effect of the group's taints that a pod tolerates without naming the group.

    Those from the settings are tolerated by pods that name the group.
    """
    found = (taint for taint in shape.taints if _is_for(taint, shape, gpus, interruptible, by_name))
    return {(taint.key, taint.effect) for taint in found}


def _is_for(taint: Taint, shape: Shape, gpus: int, interruptible: bool, by_name: bool) -> bool:
    if shape.accelerator and taint.key == shape.accelerator.resource:
        return bool(gpus)
    if taint.key == SIMULATED:
        # A pod without GPUs and node group must really run, which only the real node does.
        return by_name or bool(gpus)
    return taint.spot and interruptible
