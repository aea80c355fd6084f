"""Volumes whose pods must share a node or a zone: ReadWriteOnce volumes, disks and their clones."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.clusters.settings import NO_ZONE, ClusterArgs
from tensorplane.components.node_groups import node_size
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.queues.capacity import PodSet
from tensorplane.components.volumes import checks as volume_check
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.workloads.family import Declared, WorkloadArgs

Pods = Sequence[PodSet]


def check_one_node(workloads: Mapping[Key, WorkloadArgs], declared: Declared) -> Iterator[Problem]:
    """A problem for each workload whose pods do not fit one node, alone or with servers that mount the volume."""
    if not declared.fleet.groups or declared.fleet.unresolved:
        return
    for volume, args in declared.volumes.items():
        if args and args.backend_on(declared.cluster).is_on(declared.cluster) and args.for_one_node(declared.cluster):
            mounting = {at: one for at, one in workloads.items() if volume in one.mounted(declared.datasets)}
            yield from _one_node(volume, mounting, declared)


def _one_node(volume: str, mounting: Mapping[Key, WorkloadArgs], declared: Declared) -> Iterator[Problem]:
    """Problems of one volume. Jobs may use it one after the other, but servers mount it all the time."""
    fleet, servers, remedy = declared.fleet, dict[Key, Pods](), _remedy(declared.volumes[volume], declared.cluster)
    for at, workload in sorted(mounting.items(), key=lambda item: not item[1].stays):
        for key, own in workload.together_on(volume, declared.datasets):
            if not all(_groups_of(pods, fleet) for pods in own):
                continue  # reported by another check
            path = (*at, *key)
            resources: tuple[Key, ...] = tuple((*one, "resources") for one in (at, *servers))
            given = (("volumes", volume), ("nodeGroups",), *resources)
            of_servers = [pods for one in servers.values() for pods in one]
            if not _fit(own, fleet):
                reason = (
                    f"volume {volume} is ReadWriteOnce, so the {sum(pods.count for pods in own)} pods must share a node"
                )
                yield Problem(path, f"{reason}, but {_apart(own, fleet, remedy)}", given=given)
            elif not _fit([*own, *of_servers], fleet):
                others = " and ".join(one[-1] for one in servers)
                reason = f"volume {volume} is ReadWriteOnce, but no node has room for these pods and those of {others}"
                yield Problem(path, f"{reason}, which also mounts it; {remedy}", given=given)
            elif workload.stays:
                servers[at] = own


def _apart(own: Pods, fleet: Fleet, remedy: str) -> str:
    """Why these pods do not fit one node, and what to do."""
    groups, count = _taking(own, fleet), sum(pods.count for pods in own)
    if not groups:
        return f"{' and '.join(pods.role for pods in own)} pods run on different node groups; {remedy}"
    if any(pods.resources != own[0].resources for pods in own):
        return f"no node has room for all of them; {remedy}, or use larger nodes"
    most = max(node_size.how_many(own[0].resources, one, at_most=count) for one in groups)
    return f"a node has room for {most} of them; {remedy}, or use larger nodes"


def _remedy(args: VolumeArgs | None, cluster: ClusterArgs) -> str:
    backend = args.backend_on(cluster) if args else None
    if backend and "ReadWriteMany" in backend.capabilities.access_modes and not backend.in_one_zone(cluster):
        return "set its accessModes to [ReadWriteMany]"
    return f"use a backend with ReadWriteMany ({volume_check.that_share(cluster)})"


def _fit(pod_sets: Pods, fleet: Fleet) -> bool:
    """Whether one node holds all of these pods, or its size is unknown."""
    if any(node_size.runs_on_real_node(pods.resources, _groups_of(pods, fleet)) for pods in pod_sets):
        return True
    pods_of_sets = [(pods.resources, pods.count) for pods in pod_sets]
    return any(node_size.holds(pods_of_sets, shape) for shape in _taking(pod_sets, fleet))


def _taking(pod_sets: Pods, fleet: Fleet) -> list[Shape]:
    """Node groups that all of these pods can run on."""
    first, *others = [_groups_of(pods, fleet) for pods in pod_sets]
    return [shape for shape in first if all(shape in other for other in others)]


def _groups_of(pods: PodSet, fleet: Fleet) -> list[Shape]:
    return fleet.taking(pods.resources, interruptible=pods.interruptible)


@dataclass(frozen=True)
class Wish:
    """Zones to which a setting restricts a disk or pods."""

    at: Key
    who: str
    zones: frozenset[str]

    def __str__(self) -> str:
        return f"{self.who} in {', '.join(sorted(self.zones))}"


def check_one_zone(workloads: Mapping[Key, WorkloadArgs], declared: Declared) -> Iterator[Problem]:
    """One line for each set of disks and pods without a zone in common."""
    disks = {name: args for name, args in declared.volumes.items() if args and _is_a_disk(args, declared.cluster)}
    clones = [(name, args.source.volume) for name, args in disks.items() if args.source and args.source.volume in disks]
    pairs: list[tuple[Key, Key]] = [(("volumes", name), ("volumes", str(origin))) for name, origin in clones]
    for at, workload in workloads.items():
        pairs += [(at, ("volumes", disk)) for disk in workload.mounted(declared.datasets) if disk in disks]
    placed = {name: _known(args.placement.zones, declared) for name, args in disks.items() if args.placement}
    for together in _connected(pairs):
        wishes = [
            Wish((*at, "placement", "zones"), f"volume {at[-1]} is", placed[at[-1]])
            for at in together
            if at not in workloads and placed.get(at[-1])
        ]
        for at in together:
            if at in workloads and (found := _zones(workloads[at], declared)):
                disk = next(key for disk, key in workloads[at].mounted(declared.datasets).items() if disk in disks)
                wishes.append(Wish((*at, *disk), f"the pods of {at[-1]} are", found))
        yield from _without_a_common_zone(wishes)


def _is_a_disk(args: VolumeArgs, cluster: ClusterArgs) -> bool:
    backend = args.backend_on(cluster)
    return backend.is_on(cluster) and backend.in_one_zone(cluster)


def _known(found: Iterable[str], declared: Declared) -> frozenset[str]:
    """The zones of the cluster; other zones are reported by another check."""
    have = declared.cluster.node_zones
    return frozenset(zone for zone in found if not have or zone in (*have, NO_ZONE))


def _zones(workload: WorkloadArgs, declared: Declared) -> frozenset[str]:
    """Zones in which a workload's pods may run; empty if unknown."""
    common: frozenset[str] | None = None
    for pods in workload.pod_sets():
        groups = declared.fleet.taking(pods.resources, interruptible=pods.interruptible)
        found = [_known(declared.cluster.group_zones(shape), declared) for shape in groups]
        if not found or not all(found):
            return frozenset()
        here = frozenset(zone for each in found for zone in each)
        common = here if common is None else common & here
    return common or frozenset()


def _without_a_common_zone(wishes: list[Wish]) -> Iterator[Problem]:
    if not wishes:
        return
    narrowest, *others = sorted(wishes, key=lambda wish: len(wish.zones))
    common = narrowest.zones
    for wish in others:
        if not common & wish.zones:
            first, last = sorted((narrowest, wish), key=wishes.index)
            reason = f"{last}, but {first}, and a disk, its clones and the pods that mount it must share a zone"
            given = (first.at, ("nodeGroups",), ("cluster", "zones"), ("cluster", "region"))
            yield Problem(last.at, f"{reason}; place both in one zone, or use a backend that spans zones", given=given)
            return
        common &= wish.zones


def _connected(pairs: list[tuple[Key, Key]]) -> list[list[Key]]:
    """Sets of disks and workloads that must share a zone, in the order of the settings."""
    sets: list[set[Key]] = []
    for pair in pairs:
        touching = [one for one in sets if one & set(pair)]
        sets = [one for one in sets if one not in touching] + [set(pair).union(*touching)]
    return [sorted(one) for one in sets]
