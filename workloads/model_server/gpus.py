"""GPUs of model servers: the part of a GPU's memory that each reserves, and servers that do not fit together."""

import math
from collections.abc import Iterator, Mapping, Sequence

from tensorplane.components.base.model import Resources
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.settings import TimeSlicing
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.model_server.settings import ServerSettings


def shared_by(resources: Resources, fleet: Fleet) -> dict[str, int]:
    """The node groups on whose GPUs such pods of a server take turns, with the pods of each GPU.

    Each of these pods sees all of the memory; MPS and MIG divide it.
    """
    groups = fleet.taking(resources, interruptible=False) if resources.gpus else []
    return {shape.name: found.replicas for shape in groups if isinstance(found := shape.args.sharing, TimeSlicing)}


def reserved_memory(settings: ServerSettings, fleet: Fleet) -> float | None:
    """The part that each pod reserves; None for all of it."""
    if settings.gpu_memory_fraction is not None:
        return settings.gpu_memory_fraction
    return gpu_share(max(shared_by(settings.resources, fleet).values(), default=1))


def gpu_share(pods: int) -> float | None:
    """The part of each of these pods on one GPU, in thousandths, rounded down; None for all of it."""
    return math.floor(1000 / pods) / 1000 if pods > 1 else None


_Pods = list[tuple[float, Key]]
"""The part of each pod, and the path of its server."""


def check_memory(workloads: Mapping[Key, WorkloadArgs], fleet: Fleet) -> Iterator[Problem]:
    """A problem for each server with a part that is too large for a GPU which the largest pods share."""
    servers: dict[Key, ServerSettings] = {}
    for at, one in workloads.items():
        if isinstance(one, ServerSettings):
            servers[at] = one
    pods: dict[str, _Pods] = {}
    shares: dict[str, int] = {}
    for at, server in servers.items():
        groups = shared_by(server.resources, fleet)
        for group, count in groups.items():
            reserved = reserved_memory(server, fleet) or 1
            pods.setdefault(group, []).extend([(reserved, at)] * min(count, server.most_replicas))
        shares |= groups
    refused: set[Key] = set()
    for group, found in pods.items():
        together = sorted(found, key=lambda each: each[0], reverse=True)[: shares[group]]
        largest = next((at for _, at in together if servers[at].gpu_memory_fraction is not None), None)
        if sum(one for one, _ in together) > 1 and largest and largest not in refused:
            refused.add(largest)
            yield _memory_problem(group, together, largest)


def _memory_problem(group: str, together: _Pods, largest: Key) -> Problem:
    total = sum(one for one, _ in together)
    parts = dict.fromkeys(f"{at[-1]} {together.count((one, at))} x {one:g}" for one, at in together)
    is_now = next(one for one, at in together if at == largest)
    reason = (
        f"is {is_now:g}, but {len(together)} pods that share a GPU of node group {group} would reserve {total:g} of its"
        f" memory ({', '.join(parts)})"
    )
    given = (("nodeGroups",), *dict.fromkeys(at for _, at in together))
    remedy = f"set {gpu_share(len(together)):g} or less"
    return Problem((*largest, "gpuMemoryFraction"), f"{reason}; {remedy}", given=given)


def check_capacity(workloads: Mapping[Key, WorkloadArgs], fleet: Fleet) -> Iterator[Problem]:
    """A problem for each set of node groups whose servers use too many GPUs.

    A single server that is too large is reported by another check.
    """
    pods = {at: [each for each in one.pod_sets() if each.resources.gpus] for at, one in workloads.items() if one.stays}
    groups = {at: _groups_of(found, fleet) for at, found in pods.items() if found}
    held = {at: sum(each.count * each.resources.gpus for each in pods[at]) for at in groups}
    for among in sorted({found for found in groups.values() if found}, key=lambda found: (len(found), sorted(found))):
        inside = [at for at, found in groups.items() if found and found <= among]
        capacity = sum(fleet.groups[one].args.max * fleet.groups[one].resources.get(GPU_RESOURCE, 0) for one in among)
        total = sum(held[at] for at in inside)
        if total > capacity and all(held[at] <= capacity for at in inside):
            largest = max(inside, key=lambda at: held[at])
            key = pods[largest][0].count_at
            names = ", ".join(at[-1] for at in inside)
            reason = f"servers {names} use {number_of(total, 'GPU')} at once, but node groups"
            given = (("nodeGroups",), *inside)
            yield Problem(
                (*largest, *key),
                f"{reason} {', '.join(sorted(among))} have at most {capacity}; lower {'.'.join(key)}, or raise max "
                f"of a node group",
                given=given,
            )
            return


def _groups_of(pod_sets: Sequence[PodSet], fleet: Fleet) -> frozenset[str]:
    """Node groups that some of these pods may run on."""
    found = [fleet.taking(pods.resources, interruptible=pods.interruptible) for pods in pod_sets]
    return frozenset(shape.name for shapes in found for shape in shapes)
