"""Ends what ran on lost nodes, and moves what runs on leaving ones: `python3 -m agents.lost_nodes NAMESPACE…`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence

from agents import leader_election
from agents.api import ApiServer
from agents.lost_nodes.cluster import TAINT, Cluster
from agents.lost_nodes.evictions import HURRIED, Moves
from agents.lost_nodes.nodes import Heartbeats, Node
from agents.lost_nodes.pods import Fate, fate, is_ready, replica_set, silence

_PAUSE_SECONDS = 1.0
"""Between two looks, of which each takes a second."""


def watch(cluster: Cluster, heartbeats: Heartbeats, now: float) -> tuple[Mapping[str, Node], Mapping[str, float]]:
    """Look once at all nodes. Returns them, and the seconds of silence of those that are lost.

    Raises OSError if the API server does not answer.
    """
    spared, nodes = heartbeats.spared, cluster.nodes()
    lost = heartbeats.lost(nodes, now)
    if heartbeats.spared - spared:
        names = ", ".join(sorted(heartbeats.spared))
        print(f"{names}: silent together with more than a third of the nodes; nothing on them is ended", flush=True)
    return nodes, lost


def look(cluster: Cluster, heartbeats: Heartbeats, moves: Moves, now: float) -> None:
    """Look once at all nodes, and act on the pods of those that are lost, leave or are faulty.

    Raises OSError if the API server does not answer.
    """
    nodes, lost = watch(cluster, heartbeats, now)
    for node in nodes:
        if nodes[node].has(TAINT) and node not in lost and heartbeats.is_back(node, now):
            cluster.untaint(node, nodes[node], TAINT, "back")
    for node, silent in lost.items():
        if not (nodes[node].is_unknown or nodes[node].has(TAINT)):
            cluster.taint(node, nodes[node], TAINT, "lost")
        if silent < (heartbeats.lost_after or 0) + HURRIED or moves.is_slow_due(now):
            _end_pods(cluster, node, silent, lost)
    moves.look(nodes, lost, now)


def _end_pods(cluster: Cluster, node: str, silent: float, lost: Collection[str]) -> None:
    for pod in cluster.pods(node):
        of_controller = pod["metadata"]["namespace"] in cluster.controllers
        if (due := fate(pod, silent, of_controller=of_controller)) is not Fate.LEAVE:
            cluster.do(due, pod, silence(node, silent))
        elif replica_set(pod) and is_ready(pod) and cluster.has_ready_replica(pod, lost):
            cluster.keep_requests_from(pod, silence(node, silent))


def main(namespaces: Sequence[str]) -> None:
    """Look until the process is killed, which is safe at any moment.

    A process that waits for its turn watches the heartbeats: the one that acts may be on the node that is lost.
    """
    after = os.environ.get("LOST_AFTER_SECONDS")
    heartbeats, seen = Heartbeats(float(after) if after else None), Cluster(ApiServer(), ())
    lead = leader_election.begin(watch=lambda: watch(seen, heartbeats, time.monotonic()))
    cluster = Cluster(lead.server, namespaces, os.environ.get("CONTROLLERS", "").split())
    moves = Moves(cluster)
    while True:
        try:
            with lead.turn():
                look(cluster, heartbeats, moves, time.monotonic())
        except OSError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
