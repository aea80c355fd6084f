"""The stack's namespace: Pod Security `restricted`, and only traffic that workloads allow."""

from collections.abc import Mapping
from types import MappingProxyType

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base import encrypted, outputs
from tensorplane.components.base.labels import NAMESPACE_NAME, PART_OF, TENSORPLANE, labels

MANAGED = {PART_OF: TENSORPLANE[PART_OF]}
"""Label of the namespaces that controllers manage."""

POD_SECURITY = {
    f"pod-security.kubernetes.io/{mode}{suffix}": value
    for mode in ("enforce", "audit", "warn")
    for suffix, value in (("", "restricted"), ("-version", versions.POD_SECURITY))
}
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


class Namespace(pulumi.ComponentResource):
    """A namespace in which pods are restricted and traffic is denied; DNS is allowed, workloads allow the rest.

    `protect` refuses its deletion: deleting a namespace deletes the claims of its volumes.
    """

    name: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        *,
        protect: bool,
        teams: Mapping[str, str] = MappingProxyType({}),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`teams`: the namespace of each team, which policies read; others create them."""
        super().__init__(outputs.NAMESPACE, name, dict(outputs.Namespace(name=name, protect=protect)), opts)
        namespace = k8s.core.v1.Namespace(
            name,
            metadata={"name": name, "labels": {**TENSORPLANE, **POD_SECURITY}},
            opts=pulumi.ResourceOptions(parent=self, protect=protect, retain_on_delete=protect),
        )
        self.plain_name = name
        self.name = namespace.metadata["name"]
        self._policy(DEFAULT_DENY, {"pod_selector": {}, "policy_types": ["Ingress", "Egress"]})
        self._policy("allow-dns", {"pod_selector": {}, "policy_types": ["Egress"], "egress": [DNS]})
        made = outputs.NamespaceOutputs(name=self.name, teams=dict(teams))
        self.register_outputs(encrypted.concealed(dict(made)))

    def _policy(self, name: str, spec: "k8s.networking.v1.NetworkPolicySpecArgsDict") -> None:
        k8s.networking.v1.NetworkPolicy(
            f"{self.plain_name}-{name}",
            metadata={"name": name, "namespace": self.name, "labels": labels(self.plain_name, "network")},
            spec=spec,
            opts=pulumi.ResourceOptions(parent=self),
        )


DNS: "k8s.networking.v1.NetworkPolicyEgressRuleArgsDict" = {
    "to": [
        {"namespace_selector": {"match_labels": {NAMESPACE_NAME: "kube-system"}}},
        {"ip_block": {"cidr": _NODE_LOCAL_DNS}},
        {"ip_block": {"cidr": _GKE_CLOUD_DNS}},
    ],
    "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
}
