"""A simulated fleet of a thousand nodes: how soon it is ready, and how fast pods with GPUs are scheduled."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from itertools import islice, permutations
from pathlib import Path
from typing import Any

from bench import instance, quiet
from bench.figure import Figure, Measured
from tensorplane.components.base.model import Resources
from tensorplane.components.clusters.embedded import Embedded, simulated_nodes
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.core.errors import UserError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.embedded.cluster import processes
from tensorplane.workloads.pods import pod

MANAGER = "bench"
_ZONES = ("a", "b", "c")
_ACCELERATORS = {"old": ("t4", 334), "middle": ("a100-80gb", 333), "new": ("h100-80gb", 333)}
_PER_NODE = 8
_LIMIT_SECONDS = 900
_PODS, _ROUNDS = 600, 12
_POD = GVK("", "v1", "Pod")
_WITHOUT_GPU = Resources(cpus=8, memory_gib=64)
_WITH_GPU = _WITHOUT_GPU.model_copy(update={"gpus": 1, "accelerator": _ACCELERATORS["new"][0]})

Way = Callable[[], dict[str, Any]]


@cache
def machines(thousands: int = 1) -> Fleet:
    """Three generations of accelerators, on nodes with eight GPUs each."""
    groups = {
        name: NodeGroupArgs(
            accelerator=accelerator, per_node=_PER_NODE, min=count * thousands, max=count * thousands, zones=_ZONES
        )
        for name, (accelerator, count) in _ACCELERATORS.items()
    }
    return fleet.of(groups, Embedded().cluster_properties)[0]


@contextmanager
def running() -> Iterator[Objects]:
    """A new cluster that can simulate nodes, without any yet."""
    with instance.fresh():
        instance.start(simulated_nodes=True)
        yield api()


def api() -> Objects:
    """The cluster's API."""
    return Objects(Kube.of(instance.BENCH.kubeconfig))


def side_by_side(calls: Sequence[Callable[[], Any]]) -> None:
    """Creates them, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(call) for call in calls]:
            done.result()


def start_nodes(at: Objects, fleet: Fleet) -> float:
    """Creates the fleet's nodes; returns the seconds until the last one is Ready and schedulable."""
    shapes = fleet.groups.values()
    nodes = [simulated_nodes.manifest(shape, index) for shape in shapes for index in range(shape.args.max)]
    began = time.monotonic()
    side_by_side([partial(at.create, node, manager=MANAGER) for node in nodes])
    waited_for = {node["metadata"]["name"] for node in nodes}
    for _, node in at.watch(GVK("", "v1", "Node"), timeout=_LIMIT_SECONDS):
        if _is_ready(node):
            waited_for.discard(node["metadata"]["name"])
        if not waited_for:
            return time.monotonic() - began
    raise UserError(f"simulated nodes: {len(waited_for)} of {len(nodes)} not Ready after {_LIMIT_SECONDS} s")


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    # The not-ready taint stays for a while after a node is Ready.
    kept_off = any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints", []))
    return not kept_off and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _ready() -> Measured:
    with running() as at:
        instance.settle(5)
        seconds = start_nodes(at, machines())
    nodes = sum(shape.args.max for shape in machines().groups.values())
    return Measured(seconds, f"{nodes} nodes, {machines().gpus_max} GPUs")


def _with_gpus() -> dict[str, Any]:
    """A pod like those of tensorplane's jobs: with selector, tolerations, and its GPU's share of a node.

    With tiny requests of processors and memory, a node would look empty until its last GPU is taken: the scheduler
    would fill one node after the other, and examine the full ones too.
    """
    return _template(_WITH_GPU, _placement())


def _same_nodes() -> dict[str, Any]:
    """The same without the GPU: labels, tolerations, affinity, processors and memory are equal."""
    return _template(_WITHOUT_GPU, _placement())


def _anywhere() -> dict[str, Any]:
    """A pod without GPUs that fits every node, including the first hundred that the scheduler examines."""
    return _template(_WITHOUT_GPU, {"nodeSelector": {"type": "kwok"}, "tolerations": [{"operator": "Exists"}]})


_WAYS: tuple[Way, ...] = (_with_gpus, _same_nodes, _anywhere)


def _placement() -> dict[str, Any]:
    return node_placement.spec(machines(), _WITH_GPU, interruptible=True, synchronous=True, queued=True)


def _template(resources: Resources, placement: dict[str, Any]) -> dict[str, Any]:
    container = pod.Container(image="nothing.test/at-all", resources=resources)
    return pod.template("default", {"bench": "pods"}, container, grace_seconds=0, placement=placement)


def _seconds(at: Objects, way: Way, round_: int) -> float:
    """How long the scheduler takes to place many pending pods.

    Names are never reused: KWOK would give a new pod the end state of an earlier one with its name.
    """
    template = {**way(), "apiVersion": "v1", "kind": "Pod"}
    names = [f"{way.__name__.strip('_').replace('_', '-')}-{round_}-{number}" for number in range(_PODS)]
    # Work for scheduled pods would take processor time from the pending ones.
    with nodes_at_rest(at):
        with paused("kube-scheduler"):
            pods = [{**template, "metadata": {"name": name}} for name in names]
            side_by_side([partial(at.create, one, manager=MANAGER) for one in pods])
            # Scheduled pods leave this list. Listing the pending ones would take more time than their scheduling.
            waiting = at.watch(_POD, ns="default", fields="spec.nodeName=", timeout=_LIMIT_SECONDS)
            next(waiting)
        began = time.monotonic()
        scheduled = islice((pod for event, pod in waiting if event == "DELETED"), _PODS)
        if (found := sum(1 for _ in scheduled)) < _PODS:
            raise UserError(f"pods of round {round_}: {_PODS - found} not scheduled within {_LIMIT_SECONDS} s")
        taken = time.monotonic() - began
    side_by_side([partial(at.delete, _POD, name, "default") for name in names])
    return taken


@contextmanager
def nodes_at_rest(at: Objects) -> Iterator[None]:
    """Freezes nodes and their pods: controller manager and KWOK are stopped.

    A UserError unless all nodes are Ready then: a measurement without some of them would be that of a smaller fleet.
    """
    with paused("kube-controller-manager", "kwok"):
        lost = [node["metadata"]["name"] for node in at.list(GVK("", "v1", "Node")) if not _is_ready(node)]
        if lost:
            raise UserError(f"simulated nodes: {len(lost)} are no longer Ready, such as {lost[0]}")
        yield


@contextmanager
def paused(*names: str) -> Iterator[None]:
    """Stops these processes of the cluster (SIGSTOP)."""
    pids = [_process(name) for name in names]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _process(name: str) -> int:
    for pid in processes.members(instance.BENCH):
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == name[:15]:
                return pid
        except OSError:
            continue
    raise UserError(f"{name}: not running")


def _scheduling() -> Measured:
    rounds: list[dict[Way, float]] = []
    orders = list(permutations(_WAYS))
    with running() as at:
        start_nodes(at, machines())
        for number in range(_ROUNDS + 1):
            rounds.append({})
            # In another order each time, since later ones find warmer caches.
            for way in orders[number % len(orders)]:
                quiet.wait_for_idle_processors()
                rounds[-1][way] = _seconds(at, way, number)
    del rounds[0]  # warm-up
    ratios = [taken[_same_nodes] / taken[_with_gpus] for taken in rounds]
    ours, same, anywhere = (_PODS * _ROUNDS / sum(taken[way] for taken in rounds) for way in _WAYS)
    peer = (
        f"{ours:.0f} : {same:.0f} pods/s on the same nodes, {min(ratios):.2f} to {max(ratios):.2f} in {_ROUNDS} rounds"
    )
    return Measured(ours / same, f"{peer}; {anywhere:.0f} for pods that fit any node")


FIGURES = (
    Figure("fleet-ready", "<= 60", "s", _ready),
    Figure("gpu-pods-rate", ">= 0.9", "x", _scheduling),
)
