"""The part of a GPU's memory that a model server reserves."""

import math

from components.base.model import Resources
from components.node_groups.fleet import Fleet
from components.node_groups.settings import TimeSlicing
from workloads.model_server.settings import ServerSettings


def sliced(resources: Resources, fleet: Fleet) -> dict[str, int]:
    """The node groups on whose GPUs such pods of a server take turns, with the pods of each GPU.

    Each of these pods sees all of the memory; MPS and MIG divide it.
    """
    groups = fleet.taking(resources, interruptible=False) if resources.gpus else []
    return {shape.name: found.replicas for shape in groups if isinstance(found := shape.args.sharing, TimeSlicing)}


def reserved(settings: ServerSettings, fleet: Fleet) -> float | None:
    """The part that each pod reserves; None for all of it."""
    if settings.gpu_memory_fraction is not None:
        return settings.gpu_memory_fraction
    return part(max(sliced(settings.resources, fleet).values(), default=1))


def part(pods: int) -> float | None:
    """The part of each of these pods on one GPU, in thousandths, rounded down; None for all of it."""
    return math.floor(1000 / pods) / 1000 if pods > 1 else None
