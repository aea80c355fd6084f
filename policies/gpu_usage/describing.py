"""Kinds of operators that describe machines, queues and rules for others. What they hold, nobody requests by them."""

from __future__ import annotations

import re

from gpu_usage.manifest import Manifest

_KINDS = frozenset(
    {
        *(("kueue.x-k8s.io", kind) for kind in ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology")),
        *(("karpenter.sh", kind) for kind in ("NodePool", "NodeClaim", "NodeOverlay")),
        *(("resource.k8s.io", kind) for kind in ("DeviceClass", "ResourceSlice")),
        *(("scheduling.run.ai", "Queue"), ("scheduling.volcano.sh", "Queue"), ("scheduling.koordinator.sh", "Device")),
        *((f"scheduling.{group}", "PodGroup") for group in ("run.ai", "volcano.sh", "x-k8s.io", "sigs.k8s.io")),
        *((f"scheduling.{group}", "ElasticQuota") for group in ("x-k8s.io", "sigs.k8s.io")),
        *(("quota.koordinator.sh", "ElasticQuotaProfile"), ("nfd.k8s-sigs.io", "NodeFeatureRule")),
        *(("cloud.google.com", "ComputeClass"), ("topology.node.k8s.io", "NodeResourceTopology")),
        *(("policies.kyverno.io", kind) for kind in ("ValidatingPolicy", "ImageValidatingPolicy", "DeletingPolicy")),
    }
)
_GROUPS = re.compile(r"(constraints|templates|config)\.gatekeeper\.sh|slo\.koordinator\.sh|descheduler")
"""Of which every kind is one: rules of Gatekeeper, thresholds."""


def describes(manifest: Manifest) -> bool:
    """Whether the object only describes."""
    return manifest.type in _KINDS or _GROUPS.fullmatch(manifest.group) is not None
