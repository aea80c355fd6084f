"""What the controllers of sweeps may do that a team's members submit: an account of the platform's, which they may use.

It may do less than the members themselves, and no more: who runs a pod with it gains nothing.
"""

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.agent.agent import API_SERVER
from components.base.labels import COMPONENT, labels
from workloads.sweep import controller_objects

_PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16")
"""RFC 1918 and 6598."""
_RBAC = "rbac.authorization.k8s.io"


def allow(
    team: str, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions, *, api_server_is_private: bool
) -> None:
    """Create the account in a team's namespace, its role, and its way to the API server.

    `api_server_is_private`: whether pods reach it at a private address. Anyone can give a pod the label that the
    network policy selects, so it then allows no others.
    """
    name = controller_objects.ACCOUNT
    about: Any = {"name": name, "namespace": namespace, "labels": labels(team, controller_objects.CONTROLLER)}
    pulumi_name = f"{team}-{name}"
    account = k8s.core.v1.ServiceAccount(pulumi_name, metadata=about, automount_service_account_token=False, opts=opts)
    rules: Any = [dict(rule) for rule in controller_objects.IN_NAMESPACE]
    role = k8s.rbac.v1.Role(pulumi_name, metadata=about, rules=rules, opts=opts)
    k8s.rbac.v1.RoleBinding(
        pulumi_name,
        metadata=about,
        role_ref={"api_group": _RBAC, "kind": "Role", "name": role.metadata["name"]},
        subjects=[{"kind": "ServiceAccount", "name": account.metadata["name"], "namespace": namespace}],
        opts=opts,
    )
    to: Any = {"to": [{"ip_block": {"cidr": cidr}} for cidr in _PRIVATE]} if api_server_is_private else {}
    spec: Any = {
        "pod_selector": {"match_labels": {COMPONENT: controller_objects.CONTROLLER}},
        "policy_types": ["Egress"],
        "egress": [{**to, "ports": API_SERVER}],
    }
    k8s.networking.v1.NetworkPolicy(pulumi_name, metadata=about, spec=spec, opts=opts)
