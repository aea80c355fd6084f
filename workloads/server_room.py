"""Model servers that hold more GPUs together than the full node groups have: some of them would wait for ever."""

from collections.abc import Iterator, Mapping

from components.catalog import GPU_RESOURCE
from components.faults import Fault
from components.fleet import Fleet
from workloads import WorkloadArgs


def faults(workloads: Mapping[str, WorkloadArgs], fleet: Fleet) -> Iterator[Fault]:
    """A line for each set of groups that the servers which run there, and nowhere else, are too many for.

    A server that is too large alone says so itself.
    """
    groups = {name: _groups(one, fleet) for name, one in workloads.items() if one.stays and one.resources.gpus}
    held = {name: sum(pods.count * pods.resources.gpus for pods in workloads[name].pod_sets()) for name in groups}
    for among in sorted({found for found in groups.values() if found}, key=lambda found: (len(found), sorted(found))):
        inside = [name for name, found in groups.items() if found and found <= among]
        room = sum(fleet.groups[one].args.max * fleet.groups[one].resources.get(GPU_RESOURCE, 0) for one in among)
        total = sum(held[name] for name in inside)
        if total > room and all(held[name] <= room for name in inside):
            largest = max(inside, key=lambda name: held[name])
            reason = f"servers {', '.join(inside)} hold {total} GPUs at once, and full node groups"
            given = (("nodeGroups",), *(("workloads", name) for name in inside))
            yield Fault(
                ("workloads", largest, "replicas"),
                f"{reason} {', '.join(sorted(among))} have {room}; set fewer replicas, or a higher max there",
                given=given,
            )
            return


def _groups(workload: WorkloadArgs, fleet: Fleet) -> frozenset[str]:
    taking = fleet.taking(workload.resources, interruptible=workload.interruptible)
    return frozenset(shape.name for shape in taking)
