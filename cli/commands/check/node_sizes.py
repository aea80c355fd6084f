"""Pods that fit no node: of the embedded cluster, or of this machine, which its nodes divide."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from components.base import quantities
from components.base.problems import Key, Note, Problem
from components.clusters.embedded import Embedded
from core.errors import UserError
from core.kube import Kube
from embedded import cluster
from embedded.instance import Instance
from stack import ResolvedStack

_NODES = "/api/v1/nodes"
Room = tuple[int, int]
"""Millicores and MiB for pods."""


def problems(resolved: ResolvedStack, sizes: Callable[[], Sequence[Room]]) -> Iterator[Problem]:
    """A fault per processor or memory setting. Other clusters, and simulated groups, may get larger nodes.

    `sizes`: those of the nodes.
    """
    config = resolved.config
    if not config.cluster.own_nodes or resolved.fleet.groups or not resolved.workloads:
        return
    rooms = sizes()
    for name, pods in ((name, pods) for name, workload in resolved.workloads.items() for pods in workload.pod_sets()):
        asked = pods.resources
        needs = quantities.millicores(asked.cpus), quantities.mebibytes(asked.memory_gib)
        if rooms and not any(_holds(room, needs) for room in rooms):
            yield from _missing(("workloads", name, *pods.at), needs, rooms)


def of_nodes(api: Kube) -> list[Room]:
    """The sizes of a cluster's nodes."""
    return [_room(node) for node in api.items(_NODES)]


def of_machine(nodes: int = 1) -> list[Room]:
    """The sizes of the embedded cluster's nodes, among which this machine is divided."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return [((os.cpu_count() or 1) * 1000 // nodes, int(memory / quantities.MIB / nodes))] * nodes


def _room(node: Mapping[str, Any]) -> Room:
    """Allocatable millicores and MiB of a node, as Kubernetes rounds them."""
    has = node["status"]["allocatable"]
    return int(quantities.exact(has["cpu"]) * 1000), int(quantities.exact(has["memory"]) / quantities.MIB)


def _holds(room: Room, needs: Room) -> bool:
    return needs[0] <= room[0] and needs[1] <= room[1]


def _missing(at: Key, needs: Room, rooms: Sequence[Room]) -> Iterator[Problem]:
    """`at`: the path of the pods' resources."""
    cores, memory = max(rooms)
    for key, requested, allocatable, shown in (
        ("cpus", needs[0], cores, f"{cores / 1000:g} cores"),
        ("memoryGib", needs[1], memory, f"{memory / 1024:.4g} GiB"),
    ):
        if requested > allocatable:
            where = "this machine" if len(rooms) == 1 else "each node of this machine"
            reason = f"{where} has only {shown} for pods"
            yield Problem((*at, key), f"{reason}; set less, or deploy to a larger cluster")


def has_embedded_cluster() -> bool:
    """Whether an embedded cluster was started here."""
    return Instance.current().home.exists()


def compare_with_machine(resolved: ResolvedStack) -> list[Note]:
    """Raises a UserError with a line for each pod that this machine cannot hold. There are no notes."""
    if lines := [str(fault) for fault in problems(resolved, lambda: of_machine(_nodes(resolved)))]:
        raise UserError(*lines)
    return []


def _nodes(resolved: ResolvedStack) -> int:
    settings = resolved.config.cluster
    asked = settings.nodes if isinstance(settings, Embedded) else None
    return asked or len(cluster.node_names(Instance.current()))
