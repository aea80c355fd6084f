"""Evicts pods from nodes that announce their end and from failing devices, so that they save and start elsewhere, and
ends those that a node should have ended and cannot."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agents.lost_nodes import device_faults, leaving
from agents.lost_nodes.cluster import Cluster
from agents.lost_nodes.device_faults import LASTS, LASTS_ALL, Fault, Faults
from agents.lost_nodes.leaving import Kind
from agents.lost_nodes.nodes import Node
from agents.lost_nodes.pods import Fate, Overdue, Pod, fate, is_evicted, stays

_SLOWLY = 10.0
"""Seconds between two looks at faults and drains, which may last for weeks. A spot node has no time to lose."""
HURRIED = 120.0
"""Seconds after a node is cordoned or lost in which each look is one at its pods. A drain ends some of them at once;
what a lost node has left after that time seldom has anything that is due."""
_REMEMBERED = 3600.0
_WHOLE_NODE = ""
_REASONS = {Kind.END: "NodeLeaving", Kind.FAULT: "NodeLeaving", Kind.DRAIN: "NodeDrained"}


@dataclass
class Moves:
    """What this process has seen and said of evictions."""

    cluster: Cluster
    _faults: Faults = field(default_factory=Faults)
    _overdue: Overdue = field(default_factory=Overdue)
    _told: dict[str, float] = field(default_factory=dict)
    """The uids of pods whose eviction was told, and when."""
    _cordoned: dict[str, float] = field(default_factory=dict)
    """Nodes that are drained, or only cordoned, and since when."""
    _slowly: float | None = None

    def look(self, nodes: Mapping[str, Node], lost: Collection[str], now: float) -> None:
        """Look once at all nodes. Nodes that are `lost` answer no eviction."""
        self._told = {uid: at for uid, at in self._told.items() if now - at < _REMEMBERED}
        reached = {name: node for name, node in nodes.items() if name not in lost}
        for name, node in reached.items():
            if node.has(leaving.TAINT) and not _is_announced(node, Kind.END, Kind.FAULT):
                self.cluster.untaint(name, node, leaving.TAINT, "stays")
            if _is_announced(node, Kind.END):
                self._leave(name, node, now)
        self._drained(reached, now)
        if self.is_slow_due(now):
            self._slowly = now
            self._faulty(reached, now)
            self._stuck(reached, now)

    def is_slow_due(self, now: float) -> bool:
        """Whether the next look is one at what may last for weeks, too."""
        return self._slowly is None or now - self._slowly >= _SLOWLY

    def _leave(self, name: str, node: Node, now: float) -> None:
        """Evict all pods, and keep new ones off the node."""
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
                    self._tell_evicted(pod, name, nodes[name], now)

    def _faulty(self, nodes: Mapping[str, Node], now: float) -> None:
        announced = {(name, _WHOLE_NODE): LASTS for name, node in nodes.items() if _is_announced(node, Kind.FAULT)}
        failing: dict[Fault, tuple[Pod, str]] = {}
        seconds: dict[Fault, float] = {}
        for name, node in nodes.items():
            if any(each.healthy < each.there for each in node.devices.values()):
                for pod in self.cluster.pods(name):
                    for resource, device in device_faults.failing(pod, node.devices):
                        fault = name, f"{pod['metadata']['uid']} {device}"
                        failing[fault] = pod, f"{resource} {device} of node {name} is unhealthy"
                        works = resource in node.devices and node.devices[resource].healthy
                        seconds[fault] = LASTS if works else LASTS_ALL
        spared, equipped = self._faults.spared, sum(bool(node.devices) for node in nodes.values())
        for fault in sorted(self._faults.due({**announced, **seconds}, equipped, now)):
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
        for pod in self._overdue.due(pods, now):
            if (due := fate(pod, 0)) in (Fate.END, Fate.FAIL):
                why = f"node {pod['spec']['nodeName']} is not ready, and has not ended it in its grace period"
                self.cluster.do(due, pod, why)

    def _evict(self, pod: Pod, name: str, node: Node, now: float) -> None:
        if "deletionTimestamp" in pod["metadata"]:
            self._tell_evicted(pod, name, node, now)
        elif node.announced:
            self._move(pod, _REASONS[node.announced.kind], f"node {name} {node.announced.words}", now)

    def _tell_evicted(self, pod: Pod, name: str, node: Node, now: float) -> None:
        """Tell of a pod that somebody else evicts."""
        if node.announced and is_evicted(pod) and not stays(pod):
            self._tell(pod, _REASONS[node.announced.kind], f"node {name} {node.announced.words}", now)

    def _move(self, pod: Pod, reason: str, words: str, now: float) -> None:
        if "deletionTimestamp" not in pod["metadata"] and not stays(pod) and self.cluster.evict(pod):
            self._tell(pod, reason, words, now)

    def _tell(self, pod: Pod, reason: str, words: str, now: float) -> None:
        if self._told.setdefault(pod["metadata"]["uid"], now) == now:
            self.cluster.tell(pod, reason, f"evicted: {words}")


def _is_announced(node: Node, *kinds: Kind) -> bool:
    return node.announced is not None and node.announced.kind in kinds
