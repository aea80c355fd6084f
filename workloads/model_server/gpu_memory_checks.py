"""Model servers on one shared GPU that reserve more than its memory: the last ones would not start."""

from collections.abc import Iterator, Mapping

from components.base.problems import Key, Problem
from components.node_groups.fleet import Fleet
from workloads.family import WorkloadArgs
from workloads.model_server import gpu_memory
from workloads.model_server.settings import ServerSettings

_Pods = list[tuple[float, Key]]
"""The part of each pod, and the path of its server."""


def find_problems(workloads: Mapping[Key, WorkloadArgs], fleet: Fleet) -> Iterator[Problem]:
    """A problem for each server with a part that is too large for a GPU which the largest pods share."""
    servers: dict[Key, ServerSettings] = {}
    for at, one in workloads.items():
        if isinstance(one, ServerSettings):
            servers[at] = one
    pods: dict[str, _Pods] = {}
    shares: dict[str, int] = {}
    for at, server in servers.items():
        groups = gpu_memory.sliced(server.resources, fleet)
        for group, count in groups.items():
            reserved = gpu_memory.reserved(server, fleet) or 1
            pods.setdefault(group, []).extend([(reserved, at)] * min(count, server.most_replicas))
        shares |= groups
    refused: set[Key] = set()
    for group, found in pods.items():
        together = sorted(found, key=lambda each: each[0], reverse=True)[: shares[group]]
        largest = next((at for _, at in together if servers[at].gpu_memory_fraction is not None), None)
        if sum(one for one, _ in together) > 1 and largest and largest not in refused:
            refused.add(largest)
            yield _problem(group, together, largest)


def _problem(group: str, together: _Pods, largest: Key) -> Problem:
    total = sum(one for one, _ in together)
    parts = dict.fromkeys(f"{at[-1]} {together.count((one, at))} x {one:g}" for one, at in together)
    is_now = next(one for one, at in together if at == largest)
    reason = (
        f"is {is_now:g}, but {len(together)} pods that share a GPU of node group {group} would reserve {total:g} of its"
        f" memory ({', '.join(parts)})"
    )
    given = (("nodeGroups",), *dict.fromkeys(at for _, at in together))
    remedy = f"set {gpu_memory.part(len(together)):g} or less"
    return Problem((*largest, "gpuMemoryFraction"), f"{reason}; {remedy}", given=given)
