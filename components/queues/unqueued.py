"""GPUs of pods without a queue: jobs that a queue admits to the same GPUs would stay pending."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from components.base.faults import Fault
from components.base.labels import ACCELERATOR
from components.base.model import Resources
from components.node_groups import placement
from components.node_groups.fleet import Fleet
from components.queues.flavors import Flavor
from components.queues.settings import QueueArgs


def kinds_of(resources: Resources, fleet: Fleet, flavors: Mapping[str, Flavor], *, interruptible: bool) -> list[str]:
    """The flavors whose GPUs such pods may use, because the scheduler does not know quotas."""
    if not resources.gpus:
        return []
    if group := fleet.groups.get(resources.node_group or ""):
        return [group.flavor]
    tolerated = placement.tolerated(fleet, resources, interruptible=interruptible)
    accelerators = resources.accelerators
    return [
        flavor.name
        for flavor in flavors.values()
        if flavor.is_gpu and resources.gpus <= flavor.per_pod
        if not accelerators or any(map(flavor.has_accelerator, accelerators))
        if all((taint.key, taint.effect) in tolerated for taint in flavor.taints)
    ]


def faults(
    held: Mapping[str, Mapping[str, int]], queues: Mapping[str, QueueArgs], flavors: Mapping[str, Flavor]
) -> Iterator[Fault]:
    """Quotas that leave too little for the workloads without a queue. `held`: the most GPUs of each workload, by
    flavor; a workload that may use several flavors is under each."""
    times = Counter(name for workloads in held.values() for name in workloads)
    scarce: set[str] = set()
    for kind, workloads in held.items():
        most = flavors[kind].gpus_max if kind in flavors else None
        quotas = {name: args.gpus[kind] for name, args in queues.items() if args.gpus.get(kind)}
        queued, certain = sum(quotas.values()), {name: gpus for name, gpus in workloads.items() if times[name] == 1}
        # Quotas above the capacity are reported by another check.
        if most is None or not quotas or queued > most:
            continue
        if queued + sum(certain.values()) > most:
            yield _too_little(kind, quotas, certain, most)
        elif queued + sum(workloads.values()) > most:
            scarce.add(kind)
    for name in (name for name, count in times.items() if count > 1):
        kinds = [kind for kind, workloads in held.items() if name in workloads]
        if taken := [kind for kind in kinds if kind in scarce]:
            accelerators = {kind: flavors[kind].labels[ACCELERATOR] for kind in kinds}
            free = {accelerators[kind] for kind in kinds if kind not in scarce}
            yield _undecided(name, taken, sorted(free - {accelerators[kind] for kind in taken}))


def _too_little(kind: str, quotas: Mapping[str, int], workloads: Mapping[str, int], most: int) -> Fault:
    queued, unqueued = sum(quotas.values()), sum(workloads.values())
    largest = max(quotas, key=lambda name: quotas[name])
    parts = ", ".join(f"{name} {gpus}" for name, gpus in workloads.items())
    reason = f"the queues' quotas are {queued} {kind}, and workloads without a queue use up to {unqueued} ({parts})"
    remedy = f"set {max(0, quotas[largest] - (queued + unqueued - most))} or less here, or raise max of a node group"
    given = (("nodeGroups",), *(("queues", name) for name in quotas), *(("workloads", name) for name in workloads))
    return Fault(
        ("queues", largest, "gpus", kind), f"{reason}, but the node groups have at most {most}; {remedy}", given=given
    )


def _undecided(name: str, taken: Sequence[str], free: Sequence[str]) -> Fault:
    """A workload that may take GPUs which are guaranteed to a queue, because the scheduler uses any idle one. `free`:
    accelerators with enough GPUs for both."""
    reason = (
        f"leaves open which GPUs: pods without a queue can take {', '.join(taken)} GPUs that are guaranteed to queues"
    )
    remedy = f"set it to one of {', '.join(free)}" if free else "lower the queues' gpus, or raise max of a node group"
    given = (("nodeGroups",), ("queues",), ("workloads", name))
    return Fault(("workloads", name, "resources", "accelerator"), f"{reason}; {remedy}", given=given)
