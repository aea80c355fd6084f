"""Traefik: implements the Gateway API, so that Gateways of its class bring clients to model servers."""

from typing import Any

from pydantic import Field

from tensorplane.components.base.model import Line, Model, NonEmptyStr
from tensorplane.components.controllers.base import ControllerKind, Demand, Source
from tensorplane.components.versions import TRAEFIK as CHART

_PORT = 443
_USER = 65532


class GatewayArgs(Model):
    """Whether the stack installs an implementation of the Gateway API."""

    gateway: Source = "chart"
    """`chart` installs the Traefik version that tensorplane pins, with the Gateway API's definitions, if a model server
    creates a Gateway of the class `traefik`; `present` uses that of the cluster."""
    gateway_annotations: dict[NonEmptyStr, Line] = Field(default_factory=dict)
    """Further annotations of Traefik's Service, for the cloud's load balancer, which is internal. On an existing
    cluster, those that keep it internal; without them, Traefik has an address inside the cluster only."""


def values(*, annotations: dict[str, str] | None) -> dict[str, Any]:
    """Values of the chart: one replica that follows Gateways and nothing else, and listens on the port of theirs.

    `annotations`: of its load balancer; None for an address inside the cluster only.
    """
    exposed = {"type": "ClusterIP"} if annotations is None else {"type": "LoadBalancer", "annotations": annotations}
    return {
        "image": {"registry": "docker.io", "repository": "library/traefik", "tag": CHART.image_tag},
        "deployment": {"replicas": 1},
        "providers": {
            "kubernetesCRD": {"enabled": False},
            "kubernetesIngress": {"enabled": False},
            "kubernetesGateway": {"enabled": True},
        },
        "ingressClass": {"enabled": False},
        # Model servers create Gateways of their own.
        "gateway": {"enabled": False},
        "ports": {"web": {"expose": {"default": False}}, "websecure": {"port": _PORT}},
        "podSecurityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
            # A Gateway's port is that of the process, which is not root.
            "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": str(_PORT)}],
        },
        "service": exposed,
        "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
        "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}},
    }


def _values(demand: Demand, settings: GatewayArgs) -> dict[str, Any]:
    if demand.load_balancer is None and not settings.gateway_annotations:
        return values(annotations=None)
    return values(annotations={**(demand.load_balancer or {}), **settings.gateway_annotations})


CONTROLLER = ControllerKind("gateway", CHART, GatewayArgs, lambda demand: "gateway" in demand.workloads, _values)
