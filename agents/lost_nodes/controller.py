"""Reconciles all nodes: taints lost ones, ends or replaces the pods on them, and evicts pods from leaving ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .cluster import TAINT, Cluster
from .evictions import HURRIED, Evictions
from .nodes import Heartbeats, Node
from .pods import PodAction, decide, is_ready, replica_set, silence


def observe(cluster: Cluster, heartbeats: Heartbeats, now: float) -> tuple[Mapping[str, Node], Mapping[str, float]]:
    """Reads all nodes. Returns them, and the seconds of silence of those that are lost.

    Raises OSError if the API server does not answer.
    """
    spared, nodes = heartbeats.spared, cluster.nodes()
    lost = heartbeats.lost(nodes, now)
    if heartbeats.spared - spared:
        names = ", ".join(sorted(heartbeats.spared))
        print(f"{names}: silent together with more than a third of the nodes; nothing on them is ended", flush=True)
    return nodes, lost


def reconcile(cluster: Cluster, heartbeats: Heartbeats, evictions: Evictions, now: float) -> None:
    """Reads all nodes, and acts on the pods of those that are lost, leave or are faulty.

    Raises OSError if the API server does not answer.
    """
    nodes, lost = observe(cluster, heartbeats, now)
    for node in nodes:
        if nodes[node].has(TAINT) and node not in lost and heartbeats.is_back(node, now):
            cluster.untaint(node, nodes[node], TAINT, "back")
    for node, silent in lost.items():
        if not (nodes[node].is_unknown or nodes[node].has(TAINT)):
            cluster.taint(node, nodes[node], TAINT, "lost")
        if silent < (heartbeats.lost_after or 0) + HURRIED or evictions.is_slow_due(now):
            _end_pods(cluster, node, silent, lost)
    evictions.reconcile(nodes, lost, now)


def _end_pods(cluster: Cluster, node: str, silent: float, lost: Collection[str]) -> None:
    for pod in cluster.pods(node):
        of_controller = pod["metadata"]["namespace"] in cluster.controllers
        if (action := decide(pod, silent, of_controller=of_controller)) is not PodAction.LEAVE:
            cluster.apply(action, pod, silence(node, silent))
        elif replica_set(pod) and is_ready(pod) and cluster.has_ready_replica(pod, lost):
            cluster.mark_unready(pod, silence(node, silent))
