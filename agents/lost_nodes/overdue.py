"""Pods that are being deleted without an end on nodes that are not ready: without a runtime, a kubelet ends none.

Kubernetes deletes the pods of such a node after five minutes, a drain before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.lost_nodes.pods import Pod

MARGIN = 30.0
"""Seconds after a pod's grace period in which its kubelet may still end it."""


@dataclass
class Overdue:
    """What this process has seen of them, by its own clock."""

    _since: dict[str, float] = field(default_factory=dict)

    def due(self, pods: Iterable[Pod], now: float) -> list[Pod]:
        """Those that should have ended. `pods`: all on nodes that are not ready."""
        deleted = {pod["metadata"]["uid"]: pod for pod in pods if "deletionTimestamp" in pod["metadata"]}
        self._since = {uid: self._since.get(uid, now) for uid in deleted}
        return [pod for uid, pod in deleted.items() if now - self._since[uid] >= _grace(pod) + MARGIN]


def _grace(pod: Pod) -> float:
    return float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
