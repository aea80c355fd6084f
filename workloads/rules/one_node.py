"""ReadWriteOnce volumes whose pods do not fit on one node: the pods would stay Pending."""

from collections.abc import Iterator, Mapping, Sequence

from components.base.problems import Key, Problem
from components.clusters.settings import ClusterArgs
from components.node_groups import node_capacity
from components.node_groups.fleet import Fleet
from components.node_groups.shape import Shape
from components.queues.capacity import PodSet
from components.volumes import checks as volume_check
from components.volumes.settings import VolumeArgs
from workloads.family import Declared, WorkloadArgs

Pods = Sequence[PodSet]


def find_problems(workloads: Mapping[Key, WorkloadArgs], declared: Declared) -> Iterator[Problem]:
    """A problem for each workload whose pods do not fit one node, alone or with servers that mount the volume."""
    if not declared.fleet.groups or declared.fleet.unresolved:
        return
    for volume, args in declared.volumes.items():
        if args and args.backend_on(declared.cluster).is_on(declared.cluster) and args.for_one_node(declared.cluster):
            mounting = {at: one for at, one in workloads.items() if volume in one.mounted(declared.datasets)}
            yield from _of_volume(volume, mounting, declared)


def _of_volume(volume: str, mounting: Mapping[Key, WorkloadArgs], declared: Declared) -> Iterator[Problem]:
    """Problems of one volume. Jobs may use it one after the other, but servers mount it all the time."""
    fleet, servers, remedy = declared.fleet, dict[Key, Pods](), _remedy(declared.volumes[volume], declared.cluster)
    for at, workload in sorted(mounting.items(), key=lambda item: not item[1].stays):
        for key, own in workload.together_on(volume, declared.datasets):
            if not all(_groups(pods, fleet) for pods in own):
                continue  # reported by another check
            where = (*at, *key)
            asked: tuple[Key, ...] = tuple((*one, "resources") for one in (at, *servers))
            given = (("volumes", volume), ("nodeGroups",), *asked)
            of_servers = [pods for one in servers.values() for pods in one]
            if not _fit(own, fleet):
                reason = (
                    f"volume {volume} is ReadWriteOnce, so the {sum(pods.count for pods in own)} pods must share a node"
                )
                yield Problem(where, f"{reason}, but {_apart(own, fleet, remedy)}", given=given)
            elif not _fit([*own, *of_servers], fleet):
                others = " and ".join(one[-1] for one in servers)
                reason = f"volume {volume} is ReadWriteOnce, but no node has room for these pods and those of {others}"
                yield Problem(where, f"{reason}, which also mounts it; {remedy}", given=given)
            elif workload.stays:
                servers[at] = own


def _apart(own: Pods, fleet: Fleet, remedy: str) -> str:
    """Why these pods do not fit one node, and what to do."""
    groups, count = _taking(own, fleet), sum(pods.count for pods in own)
    if not groups:
        return f"{' and '.join(pods.role for pods in own)} pods run on different node groups; {remedy}"
    if any(pods.resources != own[0].resources for pods in own):
        return f"no node has room for all of them; {remedy}, or use larger nodes"
    most = max(node_capacity.how_many(own[0].resources, one, at_most=count) for one in groups)
    return f"a node has room for {most} of them; {remedy}, or use larger nodes"


def _remedy(args: VolumeArgs | None, cluster: ClusterArgs) -> str:
    backend = args.backend_on(cluster) if args else None
    if backend and "ReadWriteMany" in backend.capabilities.access_modes and not backend.in_one_zone(cluster):
        return "set its accessModes to [ReadWriteMany]"
    return f"use a backend with ReadWriteMany ({volume_check.that_share(cluster)})"


def _fit(pod_sets: Pods, fleet: Fleet) -> bool:
    """Whether one node has room for all of these pods, or its size is unknown."""
    if any(node_capacity.runs_on_real_node(pods.resources, _groups(pods, fleet)) for pods in pod_sets):
        return True
    asked = [(pods.resources, pods.count) for pods in pod_sets]
    return any(node_capacity.holds(asked, shape) for shape in _taking(pod_sets, fleet))


def _taking(pod_sets: Pods, fleet: Fleet) -> list[Shape]:
    """Node groups that all of these pods can run on."""
    first, *others = [_groups(pods, fleet) for pods in pod_sets]
    return [shape for shape in first if all(shape in other for other in others)]


def _groups(pods: PodSet, fleet: Fleet) -> list[Shape]:
    return fleet.taking(pods.resources, interruptible=pods.interruptible)
