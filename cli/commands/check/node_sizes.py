"""Pods that fit no node: of the embedded cluster, or of this machine, which its nodes divide."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tensorplane.components.base import quantities
from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tensorplane.stack import ResolvedStack

_NODES = "/api/v1/nodes"
Size = tuple[int, int]
"""Millicores and MiB for pods."""


def problems(resolved: ResolvedStack, sizes: Callable[[], Sequence[Size]]) -> Iterator[Problem]:
    """A problem per processor or memory setting. Other clusters, and simulated groups, may get larger nodes.

    `sizes`: those of the nodes.
    """
    config = resolved.config
    if not config.cluster.own_nodes or resolved.fleet.groups or not resolved.workloads:
        return
    nodes = sizes()
    for name, pods in ((name, pods) for name, workload in resolved.workloads.items() for pods in workload.pod_sets()):
        resources = pods.resources
        needs = quantities.millicores(resources.cpus), quantities.mebibytes(resources.memory_gib)
        if nodes and not any(_holds(node, needs) for node in nodes):
            yield from _missing(("workloads", name, *pods.at), needs, nodes)


def of_nodes(api: Kube) -> list[Size]:
    """The sizes of a cluster's nodes."""
    return [_size(node) for node in api.items(_NODES)]


def of_machine(nodes: int = 1) -> list[Size]:
    """The sizes of the embedded cluster's nodes, among which this machine is divided."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return [((os.cpu_count() or 1) * 1000 // nodes, int(memory / quantities.MIB / nodes))] * nodes


def _size(node: Mapping[str, Any]) -> Size:
    """Allocatable millicores and MiB of a node, as Kubernetes rounds them."""
    has = node["status"]["allocatable"]
    return int(quantities.exact(has["cpu"]) * 1000), int(quantities.exact(has["memory"]) / quantities.MIB)


def _holds(node: Size, needs: Size) -> bool:
    return needs[0] <= node[0] and needs[1] <= node[1]


def _missing(at: Key, needs: Size, nodes: Sequence[Size]) -> Iterator[Problem]:
    """`at`: the path of the pods' resources."""
    cores, memory = max(nodes)
    for key, requested, allocatable, shown in (
        ("cpus", needs[0], cores, f"{cores / 1000:g} cores"),
        ("memoryGib", needs[1], memory, f"{memory / 1024:.4g} GiB"),
    ):
        if requested > allocatable:
            owner = "this machine" if len(nodes) == 1 else "each node of this machine"
            reason = f"{owner} has only {shown} for pods"
            yield Problem((*at, key), f"{reason}; set less, or deploy to a larger cluster")


def has_embedded_cluster() -> bool:
    """Whether an embedded cluster was started here."""
    return Instance.current().home.exists()


def compare_with_machine(resolved: ResolvedStack) -> list[Note]:
    """Raises a UserError with a line for each pod that this machine cannot hold. There are no notes."""
    if lines := [str(problem) for problem in problems(resolved, lambda: of_machine(_nodes(resolved)))]:
        raise UserError(*lines)
    return []


def _nodes(resolved: ResolvedStack) -> int:
    settings = resolved.config.cluster
    nodes = settings.nodes if isinstance(settings, Embedded) else None
    return nodes or len(cluster.node_names(Instance.current()))
