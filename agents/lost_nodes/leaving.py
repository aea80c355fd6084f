"""Which nodes have announced their end, a drain, or a fault of their accelerators: by their taints and conditions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

TAINT = "tensorplane.dev/leaving"
"""Of nodes that announce their end or a fault; it is taken off with the announcement."""


class Kind(Enum):
    """What becomes of the pods on a node."""

    END = "nothing else may end them in time"
    FAULT = "they run on broken hardware"
    DRAIN = "whoever has announced it evicts them"


@dataclass(frozen=True)
class Announcement:
    """What a node has announced."""

    kind: Kind
    words: str
    """What happens to the node, such as `is drained`."""


_END_TAINTS = {
    # aws/aws-node-termination-handler: pkg/node/node.go, set with `taintNode`
    "aws-node-termination-handler/spot-itn": "is a spot instance that EC2 reclaims in two minutes",
    "aws-node-termination-handler/scheduled-maintenance": "has scheduled maintenance of EC2",
    "aws-node-termination-handler/asg-lifecycle-termination": "is terminated by its Auto Scaling group",
    # `--taint` of GKE's maintenance-handler and of GoogleCloudPlatform/k8s-node-termination-handler
    "cloud.google.com/impending-node-termination": "is stopped by Compute Engine",
}
_AZURE_EVENTS = {
    # learn.microsoft.com/azure/aks/node-auto-drain. A `Freeze` pauses a machine for seconds and ends nothing.
    "Preempt": "is a spot machine that Azure reclaims in 30 seconds",
    "Terminate": "is deleted by Azure",
    "Redeploy": "is moved to another host by Azure",
    "Reboot": "is rebooted by Azure",
}
_END_CONDITIONS = {
    **{f"{event}Scheduled": words for event, words in _AZURE_EVENTS.items()},
    # Azure/karpenter-provider-azure: pkg/controllers/interruption
    "PreemptionScheduled": _AZURE_EVENTS["Preempt"],
}
_ANY_AZURE_EVENT = "VMEventScheduled"
"""AKS' condition for all events (learn.microsoft.com/azure/aks/node-problem-detector); its message begins with the one:
`Preempt Scheduled: Sat, 01 Aug 2026 05:41:02 GMT…`."""
_DRAIN_TAINTS = {
    "karpenter.sh/disrupted": "is removed by Karpenter",  # karpenter.sh/docs/concepts/disruption
    # kubernetes/autoscaler: cluster-autoscaler/utils/taints
    "ToBeDeletedByClusterAutoscaler": "is removed by the cluster autoscaler",
    # learn.microsoft.com/azure/aks/node-auto-drain
    "remediator.kubernetes.azure.com/unschedulable": "is drained by AKS",
}
_EKS_HARDWARE, _NO_DETECTOR = "AcceleratedHardwareReady", "DCGMError"
"""docs.aws.amazon.com/eks/latest/userguide/node-health.html: False after errors of the hardware, such as Xid and ECC.
With this reason, the agent cannot reach its detector (aws/eks-node-monitoring-agent), which says nothing of the GPUs.
"""
_AKS_MISSING = "GPUMissing"
"""learn.microsoft.com/azure/aks/gpu-health-monitoring. Its `XIDErrors` counts errors of programs too, which a job would
take along.
"""


def announcement(node: Any) -> Announcement | None:
    """What a Node object announces; of several things the most urgent one."""
    taints = [each["key"] for each in node["spec"].get("taints") or ()]
    conditions = node.get("status", {}).get("conditions") or ()
    if ends := [*_known(_END_TAINTS, taints), *_scheduled(conditions)]:
        return Announcement(Kind.END, ends[0])
    if faults := [*_faults(conditions)]:
        return Announcement(Kind.FAULT, f"has faulty accelerators: {faults[0]}")
    drains = [*_known(_DRAIN_TAINTS, taints), *(["is drained"] if node["spec"].get("unschedulable") else ())]
    return Announcement(Kind.DRAIN, drains[0]) if drains else None


def _known(words: Mapping[str, str], found: Collection[str]) -> Iterator[str]:
    yield from (text for key, text in words.items() if key in found)


def _scheduled(conditions: Sequence[Any]) -> Iterator[str]:
    holding = {each["type"]: each.get("message") or "" for each in conditions if each["status"] == "True"}
    yield from _known(_END_CONDITIONS, holding)
    message = holding.get(_ANY_AZURE_EVENT, "")
    yield from (words for event, words in _AZURE_EVENTS.items() if message.startswith(f"{event} Scheduled"))


def _faults(conditions: Sequence[Any]) -> Iterator[str]:
    for each in conditions:
        found, reason = (each["type"], each["status"]), each.get("reason") or each["type"]
        if found == (_AKS_MISSING, "True") or (found == (_EKS_HARDWARE, "False") and reason != _NO_DETECTOR):
            yield reason
