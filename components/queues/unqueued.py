"""GPUs of pods without a queue: jobs that a queue admits to the same GPUs would stay pending."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tensorplane.components.base.labels import ACCELERATOR
from tensorplane.components.base.model import Resources
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.node_groups import placement
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.settings import QueueArgs


def usable_flavors(
    resources: Resources, fleet: Fleet, flavors: Mapping[str, Flavor], *, interruptible: bool
) -> list[str]:
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


def find_problems(
    held: Mapping[str, Mapping[Key, int]], queues: Mapping[str, QueueArgs], flavors: Mapping[str, Flavor]
) -> Iterator[Problem]:
    """Quotas that leave too little for the workloads without a queue. `held`: the most GPUs of pods by flavor and by
    the path of their resources; pods that may use several flavors are under each."""
    times = Counter(at for pods in held.values() for at in pods)
    scarce: set[str] = set()
    for kind, pods in held.items():
        most = flavors[kind].gpus_max if kind in flavors else None
        quotas = {name: args.gpus[kind] for name, args in queues.items() if args.gpus.get(kind)}
        queued, certain = sum(quotas.values()), {at: gpus for at, gpus in pods.items() if times[at] == 1}
        # Quotas above the capacity are reported by another check.
        if most is None or not quotas or queued > most:
            continue
        if queued + sum(certain.values()) > most:
            yield _too_little(kind, quotas, certain, most)
        elif queued + sum(pods.values()) > most:
            scarce.add(kind)
    for at in (at for at, count in times.items() if count > 1):
        kinds = [kind for kind, pods in held.items() if at in pods]
        if taken := [kind for kind in kinds if kind in scarce]:
            accelerators = {kind: flavors[kind].labels[ACCELERATOR] for kind in kinds}
            free = {accelerators[kind] for kind in kinds if kind not in scarce}
            yield _undecided(at, taken, sorted(free - {accelerators[kind] for kind in taken}))


def _too_little(kind: str, quotas: Mapping[str, int], pods: Mapping[Key, int], most: int) -> Problem:
    queued, unqueued = sum(quotas.values()), sum(pods.values())
    workloads: Counter[str] = Counter()
    for (_, name, *_rest), gpus in pods.items():
        workloads[name] += gpus
    largest = max(quotas, key=lambda name: quotas[name])
    parts = ", ".join(f"{name} {gpus}" for name, gpus in workloads.items())
    reason = f"the queues' quotas are {queued} {kind}, and workloads without a queue use up to {unqueued} ({parts})"
    remedy = f"set {max(0, quotas[largest] - (queued + unqueued - most))} or less here, or raise max of a node group"
    given = (("nodeGroups",), *(("queues", name) for name in quotas), *(("workloads", name) for name in workloads))
    return Problem(
        ("queues", largest, "gpus", kind), f"{reason}, but the node groups have at most {most}; {remedy}", given=given
    )


def _undecided(at: Key, taken: Sequence[str], free: Sequence[str]) -> Problem:
    """Pods that may take GPUs which are guaranteed to a queue, because the scheduler uses any idle one. `at`: the path
    of their resources. `free`: accelerators with enough GPUs for both."""
    reason = (
        f"leaves open which GPUs: pods without a queue can take {', '.join(taken)} GPUs that are guaranteed to queues"
    )
    remedy = f"set it to one of {', '.join(free)}" if free else "lower the queues' gpus, or raise max of a node group"
    given = (("nodeGroups",), ("queues",), at[:2])
    return Problem((*at, "accelerator"), f"{reason}; {remedy}", given=given)
