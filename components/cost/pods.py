"""What pods and training runs cost: their share of the nodes that they may run on, at the prices of the catalog."""

from collections.abc import Iterable

from tensorplane.components.base import price
from tensorplane.components.base.price import Usd
from tensorplane.components.cost.estimate import HOUR, RUN, Estimate
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues.capacity import PodSet


def of(pods: Iterable[PodSet], fleet: Fleet) -> Usd | None:
    """The cost of all pods together per hour; None if the price of a node group that they may run on is unknown."""
    total = Usd(0, 0)
    for each in pods:
        nodes = [shape.price for shape in fleet.taking(each.resources, interruptible=each.interruptible)]
        known = [node for node in nodes if node]
        if not nodes or len(known) < len(nodes):
            return None
        resources = each.resources
        total += price.of_pods(
            each.count, known, cpus=resources.cpus, memory_gib=resources.memory_gib, accelerators=resources.gpus
        )
    return total


def run(name: str, pods: Iterable[PodSet], fleet: Fleet) -> Estimate:
    """What a training job's run costs per hour, while all its pods run."""
    several = list(pods)
    hourly = of(several, fleet)
    return Estimate("run", name, {HOUR: hourly}, missing="" if hourly else _missing(several, fleet))


def lasting(estimate: Estimate, seconds: float | None) -> Estimate:
    """The estimate of a run with the cost of one that takes as long as the last one; None if none has ended."""
    hourly = estimate.figures.get(HOUR)
    whole = hourly * (seconds / 3600) if hourly and seconds is not None else None
    return Estimate("run", estimate.name, {HOUR: hourly, RUN: whole}, estimate.missing, estimate.date)


def _missing(pods: Iterable[PodSet], fleet: Fleet) -> str:
    shapes = [shape for one in pods for shape in fleet.taking(one.resources, interruptible=one.interruptible)]
    unknown = sorted({shape.name for shape in shapes if shape.price is None})
    if unknown:
        return f"the price of node group {', '.join(unknown)} is unknown"
    return "the stack declares no node group with prices that its pods run on"
