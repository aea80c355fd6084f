"""What a workload registers of its accelerators, so that policies count them for the right group."""

from collections.abc import Iterator

from tensorplane.components.base.outputs import Request, Requests
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.platform_settings import PlatformSettings


def of(args: WorkloadArgs, platform: PlatformSettings, team: str | None = None) -> Requests:
    """The accelerators of its pods, by their queue and by what they may get. `team`: in whose namespace it runs.

    Known only here: trials of a sweep and notebooks are no objects of the stack, nor are the queues, node groups and
    teams of a workload stack.
    """
    return Requests(requests=list(_requests(args, platform)), team=team or "")


def _requests(args: WorkloadArgs, platform: PlatformSettings) -> Iterator[Request]:
    for queue, found in args.pods_by_queue():
        priority = platform.capacities[queue].priority if queue else ""
        for pods in found:
            if gpus := pods.count * pods.resources.gpus:
                yield Request(gpus=gpus, priority=priority, accelerators=_accelerators(pods, queue, platform))


def _accelerators(pods: PodSet, queue: str | None, platform: PlatformSettings) -> list[str]:
    taking = platform.fleet.taking(pods.resources, interruptible=pods.interruptible)
    usable = platform.capacities[queue].usable(pods) if queue else ()
    flavors = {quota.flavor.name for quota, most in usable if most.gpus}
    # Queues have no quota of TPUs.
    groups = [shape for shape in taking if shape.flavor in flavors] or taking
    return sorted({shape.accelerator.name for shape in groups if shape.accelerator} or pods.resources.accelerators)
