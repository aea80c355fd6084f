"""Disks, their clones and the pods that mount them must have a zone in common."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from components.base.problems import Key, Problem
from components.clusters.settings import NO_ZONE, ClusterArgs
from components.volumes.settings import VolumeArgs
from workloads.family import Declared, WorkloadArgs


@dataclass(frozen=True)
class Wish:
    """Zones to which a setting restricts a disk or pods."""

    at: Key
    who: str
    zones: frozenset[str]

    def __str__(self) -> str:
        return f"{self.who} in {', '.join(sorted(self.zones))}"


def find_problems(workloads: Mapping[Key, WorkloadArgs], declared: Declared) -> Iterator[Problem]:
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
