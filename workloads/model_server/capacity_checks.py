"""Model servers that use more GPUs together than the full node groups have: some pods would stay pending."""

from collections.abc import Iterator, Mapping, Sequence

from components.base.plural import counted
from components.base.problems import Key, Problem
from components.catalog import GPU_RESOURCE
from components.node_groups.fleet import Fleet
from components.queues.capacity import PodSet
from workloads.family import WorkloadArgs


def find_problems(workloads: Mapping[Key, WorkloadArgs], fleet: Fleet) -> Iterator[Problem]:
    """A problem for each set of node groups whose servers use too many GPUs.

    A single server that is too large is reported by another check.
    """
    pods = {at: [each for each in one.pod_sets() if each.resources.gpus] for at, one in workloads.items() if one.stays}
    groups = {at: _groups(found, fleet) for at, found in pods.items() if found}
    held = {at: sum(each.count * each.resources.gpus for each in pods[at]) for at in groups}
    for among in sorted({found for found in groups.values() if found}, key=lambda found: (len(found), sorted(found))):
        inside = [at for at, found in groups.items() if found and found <= among]
        capacity = sum(fleet.groups[one].args.max * fleet.groups[one].resources.get(GPU_RESOURCE, 0) for one in among)
        total = sum(held[at] for at in inside)
        if total > capacity and all(held[at] <= capacity for at in inside):
            largest = max(inside, key=lambda at: held[at])
            key = pods[largest][0].count_at
            names = ", ".join(at[-1] for at in inside)
            reason = f"servers {names} use {counted(total, 'GPU')} at once, but node groups"
            given = (("nodeGroups",), *inside)
            yield Problem(
                (*largest, *key),
                f"{reason} {', '.join(sorted(among))} have at most {capacity}; lower {'.'.join(key)}, or raise max "
                f"of a node group",
                given=given,
            )
            return


def _groups(pod_sets: Sequence[PodSet], fleet: Fleet) -> frozenset[str]:
    """Node groups that some of these pods may run on."""
    found = [fleet.taking(pods.resources, interruptible=pods.interruptible) for pods in pod_sets]
    return frozenset(shape.name for shapes in found for shape in shapes)
