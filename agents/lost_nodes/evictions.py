"""Evicts pods from nodes that announce their end and from failing devices, so that they save and start elsewhere, and
ends pods that their node should have ended and cannot."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from . import device_faults, leaving
from .cluster import Cluster
from .device_faults import ALL_FAULTY_SECONDS, FAULT_SECONDS, Fault, Faults
from .leaving import Kind
from .nodes import Node
from .pods import OverdueDeletions, Pod, PodAction, decide, is_evicted, stays

_SLOW_SECONDS = 10.0
"""Resync interval for faults and drains, which may last for weeks. A spot node has no time to lose."""
HURRIED = 120.0
"""Seconds after a node is cordoned or lost in which each reconcile reads its pods, since a drain ends some at once. The
pods that a lost node has after that time seldom need anything."""
_REPORTED_SECONDS = 3600.0
_WHOLE_NODE = ""
_REASONS = {Kind.END: "NodeLeaving", Kind.FAULT: "NodeLeaving", Kind.DRAIN: "NodeDrained"}


@dataclass
class Evictions:
    """Evicts pods, with what this process has observed and reported."""

    cluster: Cluster
    _faults: Faults = field(default_factory=Faults)
    _overdue: OverdueDeletions = field(default_factory=OverdueDeletions)
    _reported: dict[str, float] = field(default_factory=dict)
    """When the eviction of each pod was reported, by the pod's uid."""
    _cordoned: dict[str, float] = field(default_factory=dict)
    """Nodes that are drained, or only cordoned, and since when."""
    _slow_at: float | None = None

    def reconcile(self, nodes: Mapping[str, Node], lost: Collection[str], now: float) -> None:
        """Acts on all nodes once. Nodes that are `lost` answer no eviction."""
        self._reported = {uid: at for uid, at in self._reported.items() if now - at < _REPORTED_SECONDS}
        reached = {name: node for name, node in nodes.items() if name not in lost}
        for name, node in reached.items():
            if node.has(leaving.TAINT) and not _is_announced(node, Kind.END, Kind.FAULT):
                self.cluster.untaint(name, node, leaving.TAINT, "stays")
            if _is_announced(node, Kind.END):
                self._leave(name, node, now)
        self._drained(reached, now)
        if self.is_slow_due(now):
            self._slow_at = now
            self._faulty(reached, now)
            self._stuck(reached, now)

    def is_slow_due(self, now: float) -> bool:
        """Whether the next reconcile also handles faults and drains, which may last for weeks."""
        return self._slow_at is None or now - self._slow_at >= _SLOW_SECONDS

    def _leave(self, name: str, node: Node, now: float) -> None:
        """Evicts all pods, and keeps new ones off the node."""
        if node.announced and not node.has(leaving.TAINT):
            self.cluster.taint(name, node, leaving.TAINT, node.announced.words)
        for pod in self.cluster.pods(name):
            self._evict(pod, name, node, now)

    def _drained(self, nodes: Mapping[str, Node], now: float) -> None:
        drained = [name for name, node in nodes.items() if _is_announced(node, Kind.DRAIN)]
        self._cordoned = {name: self._cordoned.get(name, now) for name in drained}
        for name, since in self._cordoned.items():
            if now - since < HURRIED or self.is_slow_due(now):
                for pod in self.cluster.pods(name):
                    self._report_evicted(pod, name, nodes[name], now)

    def _faulty(self, nodes: Mapping[str, Node], now: float) -> None:
        announced = {
            (name, _WHOLE_NODE): FAULT_SECONDS for name, node in nodes.items() if _is_announced(node, Kind.FAULT)
        }
        failing: dict[Fault, tuple[Pod, str]] = {}
        seconds: dict[Fault, float] = {}
        for name, node in nodes.items():
            if any(each.healthy < each.total for each in node.devices.values()):
                for pod in self.cluster.pods(name):
                    for resource, device in device_faults.failing_devices(pod, node.devices):
                        fault = name, f"{pod['metadata']['uid']} {device}"
                        failing[fault] = pod, f"{resource} {device} of node {name} is unhealthy"
                        works = resource in node.devices and node.devices[resource].healthy
                        seconds[fault] = FAULT_SECONDS if works else ALL_FAULTY_SECONDS
        spared, equipped = self._faults.spared, sum(bool(node.devices) for node in nodes.values())
        for fault in sorted(self._faults.to_act_on({**announced, **seconds}, equipped, now)):
            if fault in failing:
                pod, words = failing[fault]
                self._move(pod, "DeviceUnhealthy", words, now)
            else:
                self._leave(fault[0], nodes[fault[0]], now)
        if self._faults.spared - spared:
            names = ", ".join(sorted(self._faults.spared))
            print(f"{names}: faulty together, more than a third of those with accelerators; nothing moves", flush=True)

    def _stuck(self, nodes: Mapping[str, Node], now: float) -> None:
        pods = [pod for name, node in nodes.items() if node.is_unready for pod in self.cluster.pods(name)]
        for pod in self._overdue.list_overdue(pods, now):
            if (action := decide(pod, 0)) in (PodAction.END, PodAction.FAIL):
                why = f"node {pod['spec']['nodeName']} is not ready, and has not ended it in its grace period"
                self.cluster.apply(action, pod, why)

    def _evict(self, pod: Pod, name: str, node: Node, now: float) -> None:
        if "deletionTimestamp" in pod["metadata"]:
            self._report_evicted(pod, name, node, now)
        elif node.announced:
            self._move(pod, _REASONS[node.announced.kind], f"node {name} {node.announced.words}", now)

    def _report_evicted(self, pod: Pod, name: str, node: Node, now: float) -> None:
        """Reports a pod that somebody else evicts."""
        if node.announced and is_evicted(pod) and not stays(pod):
            self._report(pod, _REASONS[node.announced.kind], f"node {name} {node.announced.words}", now)

    def _move(self, pod: Pod, reason: str, words: str, now: float) -> None:
        if "deletionTimestamp" not in pod["metadata"] and not stays(pod) and self.cluster.evict(pod):
            self._report(pod, reason, words, now)

    def _report(self, pod: Pod, reason: str, words: str, now: float) -> None:
        if self._reported.setdefault(pod["metadata"]["uid"], now) == now:
            self.cluster.report(pod, reason, f"evicted: {words}")


def _is_announced(node: Node, *kinds: Kind) -> bool:
    return node.announced is not None and node.announced.kind in kinds
