"""Disks, their clones and the pods that mount them: what is in one zone together has to have one in common."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from components.cluster import ClusterArgs
from components.faults import Fault, Key
from components.volume import VolumeArgs, zones
from workloads import Declared, WorkloadArgs

Node = tuple[str, str]
"""A section of the settings, `volumes` or `workloads`, and a name in it."""


@dataclass(frozen=True)
class Wish:
    """Zones, one of which somebody's settings keep a disk to."""

    at: Key
    who: str
    zones: frozenset[str]

    def __str__(self) -> str:
        return f"{self.who} in {', '.join(sorted(self.zones))}"


def faults(workloads: Mapping[str, WorkloadArgs], declared: Declared) -> Iterator[Fault]:
    """One line for each set of disks and pods without a zone in common."""
    disks = {name: args for name, args in declared.volumes.items() if args and _is_a_disk(args, declared.cluster)}
    clones = [(name, args.source.volume) for name, args in disks.items() if args.source and args.source.volume in disks]
    pairs: list[tuple[Node, Node]] = [(("volumes", name), ("volumes", str(origin))) for name, origin in clones]
    for name, workload in workloads.items():
        pairs += [(("workloads", name), ("volumes", disk)) for disk in workload.mounts() if disk in disks]
    placed = {name: _known(args.placement.zones, declared) for name, args in disks.items() if args.placement}
    for together in _connected(pairs):
        wishes = [
            Wish(("volumes", one, "placement", "zones"), f"volume {one} is", placed[one])
            for section, one in together
            if section == "volumes" and placed.get(one)
        ]
        for section, one in together:
            if section == "workloads" and (found := _zones(workloads[one], declared)):
                disk = next(key for disk, key in workloads[one].mounts().items() if disk in disks)
                wishes.append(Wish(("workloads", one, *disk), f"the pods of {one} are", found))
        yield from _without_a_common_zone(wishes)


def _is_a_disk(args: VolumeArgs, cluster: ClusterArgs) -> bool:
    backend = args.backend_on(cluster)
    return backend.is_on(cluster) and backend.in_one_zone(cluster)


def _known(found: Iterable[str], declared: Declared) -> frozenset[str]:
    """The zones that the cluster has: others are faults of their own."""
    have = zones.of(declared.cluster)
    return frozenset(zone for zone in found if not have or zone in have)


def _zones(workload: WorkloadArgs, declared: Declared) -> frozenset[str]:
    """The zones in which all pods of a workload may be; none where nobody knows."""
    common: frozenset[str] | None = None
    for pods in workload.pod_sets():
        groups = declared.fleet.taking(pods.resources, interruptible=pods.interruptible)
        found = [_known(zones.of_group(shape, declared.cluster), declared) for shape in groups]
        if not found or not all(found):
            return frozenset()
        here = frozenset(zone for each in found for zone in each)
        common = here if common is None else common & here
    return common or frozenset()


def _without_a_common_zone(wishes: list[Wish]) -> Iterator[Fault]:
    if not wishes:
        return
    narrowest, *others = sorted(wishes, key=lambda wish: len(wish.zones))
    common = narrowest.zones
    for wish in others:
        if not common & wish.zones:
            first, last = sorted((narrowest, wish), key=wishes.index)
            reason = f"{last}, and {first}: a disk and what mounts it are in one zone, as are a disk and its clone"
            given = (first.at, ("nodeGroups",), ("cluster", "zones"), ("cluster", "region"))
            yield Fault(last.at, f"{reason}; put both into one, or take a backend that reaches all", given=given)
            return
        common &= wish.zones


def _connected(pairs: list[tuple[Node, Node]]) -> list[list[Node]]:
    """What hangs together, each set in the order of the settings."""
    sets: list[set[Node]] = []
    for pair in pairs:
        touching = [one for one in sets if one & set(pair)]
        sets = [one for one in sets if one not in touching] + [set(pair).union(*touching)]
    return [sorted(one) for one in sets]
