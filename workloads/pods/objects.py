"""Auxiliary objects of a workload: ServiceAccount, ConfigMaps, NetworkPolicies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.agent.code import API_SERVER_PORTS
from components.base.labels import MANAGED_BY, NAME, TENSORPLANE
from components.base.labels import labels as labels_of
from workloads.pods.egress import INTERNET, Destination
from workloads.pods.files import Bundle

Manifest = dict[str, Any]
"""An object in Kubernetes' own spelling."""


@dataclass(frozen=True)
class Identity:
    """The owner of the objects."""

    name: str
    """The workload's name, also that of its service account."""
    namespace: str
    part: str
    """Its part of the stack: training or serving."""
    managed_by: str = TENSORPLANE[MANAGED_BY]
    """What creates the objects."""

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the workload's objects and pods."""
        return {**labels_of(self.name, self.part), MANAGED_BY: self.managed_by}

    @property
    def selector(self) -> dict[str, str]:
        """Labels that select the workload's pods, and no others of the namespace."""
        return {NAME: self.name}

    def metadata(self, name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Metadata of an object of the workload."""
        return {"name": name, "namespace": self.namespace, "labels": {**self.labels, **(labels or {})}}


def service_account(owner: Identity) -> Manifest:
    """The ServiceAccount of the pods. It has no rights, and its token is not mounted."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": owner.metadata(owner.name),
        "automountServiceAccountToken": False,
    }


def config_map(owner: Identity, content: Bundle) -> Manifest:
    """The ConfigMap of a bundle. It is immutable; other content is another ConfigMap."""
    text, binary = content.data()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owner.metadata(content.name),
        "immutable": True,
        "data": text,
        **({"binaryData": binary} if binary else {}),
    }


def allow_peers(owner: Identity) -> Manifest:
    """Allows traffic between the pods on all ports, because collective operations choose their ports."""
    peers = {"podSelector": {"matchLabels": owner.selector}}
    return _policy(owner, "peers", ["Ingress", "Egress"], {"ingress": [{"from": [peers]}], "egress": [{"to": [peers]}]})


def allow_egress(owner: Identity, destinations: Sequence[Destination]) -> Manifest:
    """Allows connections of the pods to these addresses."""
    return _policy(owner, "egress", ["Egress"], {"egress": [_egress(each) for each in destinations]})


def _egress(destination: Destination) -> dict[str, Any]:
    blocks = _PUBLIC if destination.cidr == INTERNET else ({"cidr": destination.cidr},)
    ports = [{"protocol": "TCP", "port": port} for port in destination.ports]
    return {"to": [{"ipBlock": dict(block)} for block in blocks], **({"ports": ports} if ports else {})}


_PUBLIC: Sequence[Mapping[str, Any]] = (
    {
        "cidr": "0.0.0.0/0",
        # Private addresses (RFC 1918, 6598) and link-local ones, where clouds give out the node's credentials.
        "except": ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"],
    },
    {"cidr": "::/0", "except": ["fc00::/7", "fe80::/10"]},
)


def allow_clients(
    owner: Identity, ports: Sequence[int], sources: Sequence[Mapping[str, Any]] | None = None
) -> Manifest:
    """Allows clients to connect to these ports. `sources`: peers of a NetworkPolicy; by default all."""
    allowed = [{"protocol": "TCP", "port": port} for port in ports]
    rule = {"ports": allowed, **({} if sources is None else {"from": list(sources)})}
    # A rule from nobody would allow everybody.
    return _policy(owner, "clients", ["Ingress"], {"ingress": [] if sources == [] else [rule]})


def allow_servers(owner: Identity, servers: Sequence[str], port: int) -> Manifest:
    """Allows connections of the pods to those of other workloads of the namespace."""
    to = [{"podSelector": {"matchLabels": {NAME: server}}} for server in servers]
    rule = {"to": to, "ports": [{"protocol": "TCP", "port": port}]}
    return _policy(owner, "server", ["Egress"], {"egress": [rule]})


def allow_api_server(owner: Identity) -> Manifest:
    """Allows connections of the pods to Kubernetes' API server, whose address no selector matches."""
    ports = [{"protocol": "TCP", "port": port} for port in API_SERVER_PORTS]
    return _policy(owner, "api-server", ["Egress"], {"egress": [{"ports": ports}]})


def _policy(owner: Identity, suffix: str, types: Sequence[str], rules: Mapping[str, Any]) -> Manifest:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": owner.metadata(f"{owner.name}-{suffix}"),
        "spec": {"podSelector": {"matchLabels": owner.selector}, "policyTypes": list(types), **rules},
    }
