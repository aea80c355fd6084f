"""Brings a real node from a started kubelet to one that runs pods, and removes what is left of one that ended."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection
from typing import Any

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.embedded.cluster import processes, supervisor
from tensorplane.embedded.cluster.image_store import ImageStore
from tensorplane.embedded.cluster.node_config import SANDBOX_IMAGE
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.nodes import MOST_NODES, Node
from tensorplane.embedded.cluster.readiness import Patient, Wait
from tensorplane.embedded.cluster.supervisor import Supervisor


def join(paths: NodePaths, of_first: Wait, api: Patient, step: Step) -> None:
    """Waits until a further node is ready and its programs run."""
    node = f"node {paths.node.name}"
    of_first.until(node, lambda: _answers(paths), paths.node.process_name)
    alive = processes.find_node(paths.node)
    if alive is None:
        log = supervisor.log(NodePaths(paths.instance), paths.node.process_name)
        raise UserError(f"{node}: ended while it started (log: {log})")
    socket = alive.path(paths.supervisor_socket)
    wait, store = Wait(paths, Supervisor(socket)), ImageStore(paths, alive)
    wait.until(f"containerd of {node}", store.answers, "containerd")
    store.load([SANDBOX_IMAGE], step)
    wait_for(paths, Supervisor(socket), wait, api)
    wait.until(node, lambda: supervisor.all_running(socket), "supervisord")


def wait_for(paths: NodePaths, supervised: Supervisor, wait: Wait, api: Patient) -> None:
    """Waits until the node's kubelet reports it as ready, and labels it."""
    name = paths.node.name
    what = "the node" if paths.node.is_first else f"node {name}"
    wait.until(what, lambda: api.node_is_ready(name, supervised.states()["kubelet"].started), "kubelet")
    wait.until(f"{what}'s labels", api.applied(_labels(paths.node)), "kube-apiserver")


def forget(paths: NodePaths, remaining: Collection[NodePaths], wait: Wait, api: Patient) -> None:
    """Removes the Node objects and the folders of nodes that an earlier start had, and that have ended."""
    every = (NodePaths(paths.instance, number) for number in range(2, MOST_NODES + 1))
    for one in every:
        if one not in remaining and one.own.exists():
            wait.until(f"the end of node {one.node.name}", api.deleted_node(one.node.name), "kube-apiserver")
            for log in paths.logs.glob(f"{one.node.process_name}.log*"):
                log.unlink()
            shutil.rmtree(one.own)


def _answers(paths: NodePaths) -> bool:
    with contextlib.suppress(OSError):
        alive = processes.find_node(paths.node)
        return alive is not None and bool(Supervisor(alive.path(paths.supervisor_socket)).states())
    return False


def _labels(node: Node) -> dict[str, Any]:
    """The label by which queues select the node: the flavor without accelerators of components/queues/flavors.py."""
    labels = {"tensorplane.dev/flavor": "cpu", "tensorplane.dev/accelerator": "none"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": labels}}
