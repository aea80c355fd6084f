"""Volumes for the pods of one node, under pods that no node takes together: all of them would wait for ever."""

from collections.abc import Iterator, Mapping, Sequence

from components import node_room
from components.cluster import ClusterArgs
from components.faults import Fault, Key
from components.fleet import Fleet
from components.node_group import Shape
from components.queue.room import PodSet
from components.volume import VolumeArgs
from components.volume import check as volume_check
from workloads import Declared, WorkloadArgs

Pods = Sequence[PodSet]


def faults(workloads: Mapping[str, WorkloadArgs], declared: Declared) -> Iterator[Fault]:
    """A line for each workload whose pods cannot be on one node, or not with the servers that mount the volume too."""
    if not declared.fleet.groups or declared.fleet.untold:
        return
    for volume, args in declared.volumes.items():
        if args and args.backend_on(declared.cluster).is_on(declared.cluster) and args.for_one_node(declared.cluster):
            mounting = {name: one for name, one in workloads.items() if volume in one.mounts()}
            yield from _of_volume(volume, mounting, declared)


def _of_volume(volume: str, mounting: Mapping[str, WorkloadArgs], declared: Declared) -> Iterator[Fault]:
    """A job ends, and another may mount the volume after it, elsewhere. A server stays where it is."""
    fleet, servers, need = declared.fleet, dict[str, Pods](), _remedy(declared.volumes[volume], declared.cluster)
    for name, workload in sorted(mounting.items(), key=lambda item: not item[1].stays):
        own, where = workload.pod_sets(), ("workloads", name, *workload.mounts()[volume])
        if not _taking(own, fleet):
            continue  # a fault of its own
        asked: tuple[Key, ...] = tuple(("workloads", one, "resources") for one in (name, *servers))
        given = (("volumes", volume), ("nodeGroups",), *asked)
        beside = [pods for one in servers.values() for pods in one]
        if not _fit(own, fleet):
            count = sum(pods.count for pods in own)
            most = max(node_room.how_many(own[0].resources, one, at_most=count) for one in _taking(own, fleet))
            reason = f"volume {volume} is ReadWriteOnce, so its {count} pods have to be on one node"
            yield Fault(where, f"{reason}, and a node takes {most} of them; {need}, or larger nodes", given=given)
        elif not _fit([*own, *beside], fleet):
            reason = f"volume {volume} is ReadWriteOnce, and no node takes these pods beside {' and '.join(servers)}"
            yield Fault(where, f"{reason}, which mounts it too; {need}", given=given)
        elif workload.stays:
            servers[name] = own


def _remedy(args: VolumeArgs | None, cluster: ClusterArgs) -> str:
    backend = args.backend_on(cluster) if args else None
    if backend and "ReadWriteMany" in backend.capabilities.access_modes and not backend.in_one_zone(cluster):
        return "set its accessModes to [ReadWriteMany]"
    return f"take a backend with ReadWriteMany ({volume_check.that_share(cluster)})"


def _fit(pod_sets: Pods, fleet: Fleet) -> bool:
    """Whether one node takes all of these pods at once, or may be one of which nobody knows how much it takes."""
    if any(node_room.others_take_it(pods.resources, _groups(pods, fleet)) for pods in pod_sets):
        return True
    asked = [(pods.resources, pods.count) for pods in pod_sets]
    return any(node_room.holds(asked, shape) for shape in _taking(pod_sets, fleet))


def _taking(pod_sets: Pods, fleet: Fleet) -> list[Shape]:
    """The groups that all of these pods get into."""
    first, *others = [_groups(pods, fleet) for pods in pod_sets]
    return [shape for shape in first if all(shape in other for other in others)]


def _groups(pods: PodSet, fleet: Fleet) -> list[Shape]:
    return fleet.taking(pods.resources, interruptible=pods.interruptible)
