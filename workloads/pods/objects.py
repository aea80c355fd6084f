"""Auxiliary objects of a workload: ServiceAccount, ConfigMaps, NetworkPolicies with the destinations outside of it, and
monitors for Prometheus.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tensorplane.components.agent.code import API_SERVER_PORTS
from tensorplane.components.base.labels import (
    COMPONENT,
    MANAGED_BY,
    NAME,
    PROMETHEUS_PATH,
    PROMETHEUS_PORT,
    PROMETHEUS_SCRAPE,
    TENSORPLANE,
    TRACK,
)
from tensorplane.components.base.labels import labels as labels_of
from tensorplane.components.base.model import Line, Model, refuse_all_but
from tensorplane.workloads.pods.files import Bundle

INTERNET = "internet"
_METADATA = ipaddress.ip_address("169.254.169.254")
_EXAMPLE = f"addresses as a CIDR, such as 203.0.113.0/24, or {INTERNET}"


def _check_destination(value: str) -> str:
    if value == INTERNET:
        return value
    try:
        found = ipaddress.ip_network(value, strict=False)
    except ValueError:
        refuse_all_but(f"{_EXAMPLE}; a NetworkPolicy knows no host names")
    if str(found) != value:
        refuse_all_but(_EXAMPLE, str(found))
    if _METADATA in found:
        refuse_all_but(
            f"a range without {_METADATA}, where clouds give out the node's credentials; {INTERNET} has none"
        )
    return value


class Destination(Model):
    """Addresses that the job's pods may connect to. The addresses alone are enough: `egress: [10.20.0.0/16]`."""

    cidr: Annotated[Line, AfterValidator(_check_destination)]
    """Addresses as a CIDR, or `internet`: all public addresses."""
    ports: list[Annotated[int, Field(ge=1, le=65535)]] = Field(default_factory=list)
    """TCP ports. All ports and protocols by default."""

    @model_validator(mode="before")
    @classmethod
    def _cidr_alone(cls, value: Any) -> Any:
        return {"cidr": value} if isinstance(value, str) else value


def _one(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Egress = Annotated[list[Destination], BeforeValidator(_one)]
"""Destinations; `internet` alone is enough."""


Manifest = dict[str, Any]
"""An object in Kubernetes' own spelling."""


@dataclass(frozen=True)
class Identity:
    """The owner of the objects."""

    name: str
    """The workload's name, also that of its service account."""
    namespace: str
    component_label: str
    """The value of the label `app.kubernetes.io/component`: training or serving."""
    managed_by: str = TENSORPLANE[MANAGED_BY]
    """What creates the objects."""

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the workload's objects and pods."""
        return {**labels_of(self.name, self.component_label), MANAGED_BY: self.managed_by}

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


def gang_policies(owner: Identity, egress: Sequence[Destination], port: int | None = None) -> list[Manifest]:
    """The policies of a gang: its pods reach each other and these addresses, and clients reach their port, if any."""
    return [
        allow_peers(owner),
        *([allow_egress(owner, egress)] if egress else []),
        *([allow_clients(owner, [port])] if port else []),
    ]


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


PATH = "/monitoring/prometheus/metrics"


def annotations(port: int) -> dict[str, str]:
    """Annotations of the pods, for a Prometheus that discovers pods by them."""
    return {PROMETHEUS_SCRAPE: "true", PROMETHEUS_PORT: str(port), PROMETHEUS_PATH: PATH}


def service_monitor(owner: Identity) -> Manifest:
    """Scrapes the pods behind the server's Service, for the Prometheus operator."""
    # The Services of a canary's tracks have the same pods once more.
    once = [{"key": TRACK, "operator": "DoesNotExist"}]
    labels = {**owner.selector, COMPONENT: owner.component_label}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": owner.metadata(owner.name),
        "spec": {
            "selector": {"matchLabels": labels, "matchExpressions": once},
            "endpoints": [{"port": "rest", "path": PATH}],
        },
    }


def pod_monitor(owner: Identity) -> Manifest:
    """Scrapes the port `metrics` of the workload's pods, which have no Service, for the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": owner.metadata(owner.name),
        "spec": {
            "selector": {"matchLabels": owner.selector},
            "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics"}],
        },
    }
