"""What holds for namespaces: who owns those that no stack may use, Pod Security, and the traffic that is allowed."""

from __future__ import annotations

from tensorplane.components import versions
from tensorplane.components.base.labels import NAMESPACE_NAME, PART_OF, TENSORPLANE
from tensorplane.components.base.sdk import k8s

MANAGED = {PART_OF: TENSORPLANE[PART_OF]}
"""Label of the namespaces that controllers manage."""
POD_SECURITY = {
    f"pod-security.kubernetes.io/{mode}{suffix}": value
    for mode in ("enforce", "audit", "warn")
    for suffix, value in (("", "restricted"), ("-version", versions.POD_SECURITY))
}
LABELS = {**TENSORPLANE, **POD_SECURITY}
"""Of a stack's namespace: controllers manage its jobs, and its pods are restricted."""
DEFAULT_DENY = "default-deny"
"""A NetworkPolicy of the stack's namespace, which goes with the stack where the namespace stays."""
_OF_KUBERNETES = "kube-"
_OF_CONTROLLERS = frozenset(chart.namespace for chart in versions.CHARTS)


def namespace_owner(name: str) -> str | None:
    """Owner of a namespace that a stack or team must not use; None for any other."""
    if name == "default":
        return "the one of objects that name none"
    if name.startswith(_OF_KUBERNETES):
        return "Kubernetes' own"
    return "the controllers'" if name in _OF_CONTROLLERS else None


# Link-local addresses, which no selector matches.
_NODE_LOCAL_DNS = "169.254.20.10/32"
_GKE_CLOUD_DNS = "169.254.169.254/32"
DNS: k8s.networking.v1.NetworkPolicyEgressRuleArgsDict = {
    "to": [
        {"namespace_selector": {"match_labels": {NAMESPACE_NAME: "kube-system"}}},
        {"ip_block": {"cidr": _NODE_LOCAL_DNS}},
        {"ip_block": {"cidr": _GKE_CLOUD_DNS}},
    ],
    "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
}
