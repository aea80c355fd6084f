"""GPUs that pods hold beside the queues: what a queue admits to the same cards would wait for them for ever."""

from collections.abc import Iterator, Mapping

from components.faults import Fault
from components.fleet import Fleet
from components.model import Resources
from components.queue.flavors import Flavor
from components.queue.settings import QueueArgs


def kind_of(resources: Resources, fleet: Fleet, flavors: Mapping[str, Flavor]) -> str | None:
    """The kind of machine whose GPUs such pods hold; None where they may be of several, or have none."""
    if not resources.gpus:
        return None
    if group := fleet.groups.get(resources.node_group or ""):
        return group.flavor
    card = resources.accelerator
    found = [flavor.name for flavor in flavors.values() if flavor.is_gpu and (not card or flavor.is_card(card))]
    return found[0] if len(found) == 1 else None


def faults(
    held: Mapping[str, Mapping[str, int]], queues: Mapping[str, QueueArgs], flavors: Mapping[str, Flavor]
) -> Iterator[Fault]:
    """Quotas that leave too little for the workloads without a queue. `held`: their GPUs at most, by kind."""
    for kind, workloads in held.items():
        most = flavors[kind].gpus_max if kind in flavors else None
        quotas = {name: args.gpus[kind] for name, args in queues.items() if args.gpus.get(kind)}
        queued, beside = sum(quotas.values()), sum(workloads.values())
        # Quotas that are too large by themselves are said already.
        if most is None or not quotas or queued > most or queued + beside <= most:
            continue
        largest = max(quotas, key=lambda name: quotas[name])
        told = ", ".join(f"{name} {gpus}" for name, gpus in workloads.items())
        reason = f"the queues hold {queued} of {kind} and workloads without a queue up to {beside} ({told})"
        need = f"need at most {max(0, quotas[largest] - (queued + beside - most))} here, or a higher max there"
        given = (("nodeGroups",), *(("queues", name) for name in quotas), *(("workloads", name) for name in workloads))
        yield Fault(
            ("queues", largest, "gpus", kind), f"{reason}, and the full node groups have {most}: {need}", given=given
        )
