"""Pods that fit no node of this machine's cluster: only the cluster knows the sizes of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.base import quantities
from components.base.faults import Fault, Key
from driver.kube import Kube
from stack import ResolvedStack

_NODES = "/api/v1/nodes"


def faults(resolved: ResolvedStack, api: Kube) -> Iterator[Fault]:
    """A fault per processor or memory setting. Other clusters, and simulated groups, may get larger nodes."""
    config = resolved.config
    if not config.cluster.own_nodes or resolved.fleet.groups or not resolved.workloads:
        return
    rooms = [_room(node) for node in api.items(_NODES)]
    for name, pods in ((name, pods) for name, workload in resolved.workloads.items() for pods in workload.pod_sets()):
        asked = pods.resources
        needs = quantities.millicores(asked.cpus), quantities.mebibytes(asked.memory_gib)
        if rooms and not any(_holds(room, needs) for room in rooms):
            yield from _missing(("workloads", name, *pods.at), needs, rooms)


def _room(node: Mapping[str, Any]) -> tuple[int, int]:
    """Allocatable millicores and MiB of a node, as Kubernetes rounds them."""
    has = node["status"]["allocatable"]
    return int(quantities.exact(has["cpu"]) * 1000), int(quantities.exact(has["memory"]) / quantities.MIB)


def _holds(room: tuple[int, int], needs: tuple[int, int]) -> bool:
    return needs[0] <= room[0] and needs[1] <= room[1]


def _missing(at: Key, needs: tuple[int, int], rooms: Sequence[tuple[int, int]]) -> Iterator[Fault]:
    """`at`: the path of the pods' resources."""
    cores, memory = max(rooms)
    for key, requested, allocatable, shown in (
        ("cpus", needs[0], cores, f"{cores / 1000:g} cores"),
        ("memoryGib", needs[1], memory, f"{memory / 1024:.4g} GiB"),
    ):
        if requested > allocatable:
            reason = f"this machine has only {shown} for pods"
            yield Fault((*at, key), f"{reason}; set less, or deploy to a larger cluster")
