"""Which nodes are lost: those that send no heartbeat while the others do.

A kubelet renews its node's Lease every ten seconds. What counts is when this process saw it renewed, by its own clock:
clocks of machines differ, and a time in which this process could not look does not count as silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .device_faults import Devices
from .leaving import Announcement

_MOST_HEARTBEAT_SECONDS = 13.0
"""At most so many seconds are between two observed heartbeats: the kubelet's ten, its jitter and a late reconcile."""
_LEAST_SILENCE_SECONDS = 2 * _MOST_HEARTBEAT_SECONDS
"""Seconds of silence before which no node is lost: by then, all that fell silent with it miss a heartbeat."""
_MOST_UNOBSERVED_SECONDS = 4.0
"""Seconds between two reconciles; a longer time, while the API server was away, counts for no node."""
_SIMULTANEOUS_SECONDS = 300.0
"""Nodes that fall silent within this time do so together."""


@dataclass(frozen=True)
class Node:
    """A node as the API server has it."""

    renewed: str
    """The time in its Lease, as text; empty without one, as of a node that has just joined."""
    is_unknown: bool
    """Whether Kubernetes has given it up: its condition Ready is Unknown. It gets no pods then."""
    announced: Announcement | None = None
    devices: Mapping[str, Devices] = field(default_factory=dict)
    """By extended resource."""
    taints: Sequence[Mapping[str, str]] = ()
    version: str = ""
    """The resource version of what was read."""
    is_unready: bool = False
    """Whether its kubelet says that it is not ready: it answers, but may be unable to start and to end pods."""

    def has(self, taint: str) -> bool:
        """Whether it has a taint with this key."""
        return any(each["key"] == taint for each in self.taints)


@dataclass
class Heartbeats:
    """The nodes' heartbeats, as this process has observed them."""

    lost_after: float | None = None
    """Seconds of silence after which a node is lost; None: when Kubernetes gives it up."""
    _observed: dict[str, tuple[str, float]] = field(default_factory=dict)
    """The last heartbeat of each node, and when it was first observed."""
    _changed: set[str] = field(default_factory=set)
    """Nodes of which it has observed several heartbeats."""
    _observed_at: float | None = None
    _spared: dict[str, str] = field(default_factory=dict)
    """Nodes that fell silent together, and their last heartbeats."""

    def lost(self, nodes: Mapping[str, Node], now: float) -> dict[str, float]:
        """The nodes that are lost, each with the seconds since its last heartbeat. `now`: by a monotonic clock.

        If several nodes fall silent together, and they are more than a third, it is the network or the control plane:
        they are spared until they are back. So are all if none is left that sends heartbeats.
        """
        unseen = now - self._observed_at if self._observed_at is not None else 0
        if unseen > _MOST_UNOBSERVED_SECONDS:
            self._observed = {name: (heartbeat, at + unseen) for name, (heartbeat, at) in self._observed.items()}
        self._observed_at = now
        self._observed = {name: self._heartbeat(name, node, now) for name, node in nodes.items()}
        self._spared = {name: at for name, at in self._spared.items() if name in nodes and nodes[name].renewed == at}
        found = {}
        for name, node in nodes.items():
            if name not in self._spared and self._is_silent(name, node, now):
                together = self._together(name, now)
                if self._is_storm(together, now):
                    self._spared |= {each: nodes[each].renewed for each in together}
                else:
                    found[name] = now - self._observed[name][1]
        return {name: seconds for name, seconds in found.items() if name not in self._spared}

    def is_back(self, name: str, now: float) -> bool:
        """Whether this process has observed a change of a node's heartbeat recently."""
        return name in self._changed and now - self._observed[name][1] <= _MOST_HEARTBEAT_SECONDS

    @property
    def spared(self) -> frozenset[str]:
        """The nodes that fell silent together and are not back."""
        return frozenset(self._spared)

    def _heartbeat(self, name: str, node: Node, now: float) -> tuple[str, float]:
        before = self._observed.get(name)
        if not node.renewed and not node.is_unknown:
            return "", now  # only Kubernetes knows of it
        if before and before[0] == node.renewed:
            return before
        if before:
            self._changed.add(name)
        return node.renewed, now

    def _is_silent(self, name: str, node: Node, now: float) -> bool:
        silence = now - self._observed[name][1]
        return silence >= max(self.lost_after or 0, _LEAST_SILENCE_SECONDS) and (
            node.is_unknown or (self.lost_after is not None and node.renewed != "")
        )

    def _together(self, name: str, now: float) -> set[str]:
        """The nodes that fell silent with this one, also a while before or after it."""
        last = self._observed[name][1]
        return {
            each
            for each, (_, at) in self._observed.items()
            if at < now - _MOST_HEARTBEAT_SECONDS and abs(at - last) < _SIMULTANEOUS_SECONDS
        }

    def _is_storm(self, together: set[str], now: float) -> bool:
        alive = sum(at >= now - _MOST_HEARTBEAT_SECONDS for _, at in self._observed.values())
        return not alive or (len(together) > 1 and 2 * len(together) > alive)
