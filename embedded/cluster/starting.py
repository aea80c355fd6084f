"""Brings an instance from any state to Ready nodes with working DNS."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tensorplane import toolchain
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.step import Step
from tensorplane.embedded.cluster import (
    cgroups,
    configuration,
    csi,
    dns,
    joining,
    kwok,
    network,
    node_network,
    processes,
    stopping,
    supervisor,
)
from tensorplane.embedded.cluster.configuration import Configuration
from tensorplane.embedded.cluster.image_store import ImageStore
from tensorplane.embedded.cluster.lock import only_one
from tensorplane.embedded.cluster.node_config import SANDBOX_IMAGE
from tensorplane.embedded.cluster.node_paths import NodePaths, of_nodes
from tensorplane.embedded.cluster.nodes import Node
from tensorplane.embedded.cluster.processes import Alive
from tensorplane.embedded.cluster.readiness import Patient, Wait, api_is_ready
from tensorplane.embedded.cluster.supervisor import Supervisor
from tensorplane.embedded.instance import Instance

_FREE_GIB = 2.0
"""Below 1 GiB the kubelet evicts pods, and a starting cluster writes some files."""


def start(instance: Instance, step: Step, *, simulated_nodes: bool, storage: bool, nodes: int | None) -> None:
    """Idempotent: a cluster that runs with the same configuration is only checked; any other is restarted."""
    with only_one(instance):
        try:
            _start(NodePaths(instance), step, simulated_nodes=simulated_nodes, storage=storage, nodes=nodes)
        except OSError as error:
            raise UserError(f"{error.filename or instance.home}: {error.strerror or error}") from None


def _start(paths: NodePaths, step: Step, *, simulated_nodes: bool, storage: bool, nodes: int | None) -> None:
    alive = processes.find(paths.instance)
    if alive is None:
        _check_space(paths)
    else:
        _refuse_other_home(paths, alive)
    step.note("certificates and configuration")
    had = len(of_nodes(paths.instance))
    wanted = configuration.write(paths, simulated_nodes=simulated_nodes, storage=storage, nodes=nodes)
    outdated = _outdated(paths, alive, wanted, had) if alive else ""
    if outdated:
        print(f"The cluster restarts: {outdated}.", file=sys.stderr, flush=True)
    if alive is None or outdated:
        stopping.clean(paths.instance)
        alive = _launch(paths, wanted)
    _converge(paths, alive, wanted, step)


def _outdated(paths: NodePaths, alive: Alive, wanted: Configuration, had: int) -> str:
    """Why a running cluster has to restart; empty if it does not. `had`: the number of nodes in its files."""
    fingerprint = alive.identity(paths).get("fingerprint")
    if not fingerprint:
        return "its start was interrupted"
    if had != len(wanted.nodes):
        return f"its number of real nodes changes from {had} to {len(wanted.nodes)}, which divide this machine"
    if fingerprint != wanted.fingerprint:
        return "its configuration, its programs or its code changed since it started"
    is_whole = network.is_whole(paths.instance) and all(map(node_network.has_route, _further_nodes(wanted)))
    return "" if is_whole else "the host lost its routes to it"


def _further_nodes(wanted: Configuration) -> list[Node]:
    return [paths.node for paths in wanted.nodes if not paths.node.is_first]


def _check_space(paths: NodePaths) -> None:
    paths.instance.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    free = shutil.disk_usage(paths.instance.home).free / 2**30
    if free < _FREE_GIB:
        raise UserError(
            f"{paths.instance.home}: {free:.1f} GiB are free, but the cluster requires {_FREE_GIB:.0f}; free some space"
        )


def _refuse_other_home(paths: NodePaths, alive: Alive) -> None:
    home = alive.identity(paths).get("home")
    if home and home != str(paths.instance.home):
        raise UserError(
            f"cluster {paths.instance.name}: already running with its data in {home}, not in {paths.instance.home}; "
            f"stop it with `{command_lines.goal('down')}`, or set the same XDG_STATE_HOME"
        )


def _launch(paths: NodePaths, wanted: Configuration) -> Alive:
    network.check_addresses(paths.instance)
    node_network.check_addresses(_further_nodes(wanted))
    network.create(paths.instance)
    for node in _further_nodes(wanted):
        node_network.route_from_host(node)
    cgroups.create(paths.instance)
    processes.launch(paths.instance, wanted.fingerprint)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        alive = processes.find(paths.instance)
        if alive and alive.identity(paths).get("fingerprint") and _answers(paths, alive):
            return alive
        time.sleep(0.05)
    path = paths.logs / "first-process.log"
    raise UserError(f"supervisord did not start: {supervisor.last_error(path)} (log: {path})")


def _answers(paths: NodePaths, alive: Alive) -> bool:
    with contextlib.suppress(OSError):
        return bool(Supervisor(alive.path(paths.supervisor_socket)).states())
    return False


def _converge(paths: NodePaths, alive: Alive, wanted: Configuration, step: Step) -> None:
    supervised = Supervisor(alive.path(paths.supervisor_socket))
    wait = Wait(paths, supervised)
    supervised.start(wanted.of_start_order(0))
    with ThreadPoolExecutor(len(wanted.nodes)) as pool:
        beside = [pool.submit(_import_add_ons, paths, alive, wait, step)]
        step.note("etcd and the API server")
        wait.until("the API server", lambda: api_is_ready(paths), "kube-apiserver")
        supervised.start(wanted.of_start_order(1))
        step.note("node and DNS" if len(wanted.nodes) == 1 else "nodes and DNS")
        api = Patient(Objects(Kube.of(paths.instance.kubeconfig)))
        beside += [pool.submit(joining.join, one, wait, api, step) for one in wanted.nodes if not one.node.is_first]
        for manifest in (_kubelet_access(), *_of_parts(paths), *dns.manifests(paths.instance)):
            wait.until(f"{manifest['kind']} {manifest['metadata']['name']}", api.applied(manifest), "kube-apiserver")
        supervised.start(wanted.of_start_order(2))
        for each in beside:
            each.result()
    joining.wait_for(paths, supervised, wait, api)
    joining.forget(paths, wanted.nodes, wait, api)
    wait.until("the cluster's DNS", lambda: dns.answers(paths.instance), "kube-proxy")
    # A restarted process counts as running once it has stayed up for a second.
    wait.until("the cluster", lambda: supervisor.all_running(alive.path(paths.supervisor_socket)), "supervisord")


def _of_parts(paths: NodePaths) -> list[dict[str, Any]]:
    of_kwok = kwok.manifests() if kwok.is_part_of(paths) else []
    return [*of_kwok, *(csi.manifests(toolchain.tools().snapshot_kinds) if csi.is_part_of(paths) else [])]


def _import_add_ons(paths: NodePaths, alive: Alive, wait: Wait, step: Step) -> None:
    store = ImageStore(paths, alive)
    wait.until("containerd", store.answers, "containerd")
    store.load((SANDBOX_IMAGE, dns.IMAGE), step)


def _kubelet_access() -> dict[str, Any]:
    """Lets the API server read logs and run commands through the kubelet, which authorizes callers with RBAC."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "tensorplane:kubelet-api"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "kube-apiserver-kubelet-client"}
        ],
    }
