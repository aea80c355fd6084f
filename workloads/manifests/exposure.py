"""The objects through which clients outside of the stack reach a model server."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.base.labels import NAME, NAMESPACE_NAME
from workloads.manifests.objects import Identity, Manifest
from workloads.settings.exposure import ClientArgs, GatewayArgs, JwtArgs, LoadBalancerArgs, NewGatewayArgs

ROUTES = "gateway.networking.k8s.io"
"""API group of the Gateway API."""
API = f"{ROUTES}/v1"
ENVOY = "gateway.envoyproxy.io"
"""API group of Envoy Gateway's policies."""
ENVOY_API = f"{ENVOY}/v1alpha1"

_METHODS = (
    {"service": "tensorflow.serving.PredictionService"},
    {"service": "tensorflow.serving.ModelService", "method": "GetModelStatus"},
    {"service": "grpc.health.v1.Health"},
)
"""What clients may call: not ModelService's HandleReloadConfigRequest, with which one replaces the models."""


def load_balancer(exposure: LoadBalancerArgs) -> dict[str, Any]:
    """What the spec of the Service has in addition. Clients keep their addresses, which NetworkPolicies see."""
    ranges = {"loadBalancerSourceRanges": list(exposure.allowed_cidrs)} if exposure.allowed_cidrs else {}
    return {"type": "LoadBalancer", "externalTrafficPolicy": "Local", **ranges}


def sources(clients: Sequence[ClientArgs], exposure: Any) -> list[dict[str, Any]]:
    """The clients as peers of a NetworkPolicy, and those that a load balancer lets in."""
    found = [_peer(client) for client in clients]
    if isinstance(exposure, LoadBalancerArgs):
        found += [{"ipBlock": {"cidr": cidr}} for cidr in exposure.allowed_cidrs]
    return found


def _peer(client: ClientArgs) -> dict[str, Any]:
    if client.workload:
        return {"podSelector": {"matchLabels": {NAME: client.workload}}}
    return {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: client.namespace}}}


def through_gateway(owner: Identity, exposure: GatewayArgs, *, rest: int, grpc: int) -> list[Manifest]:
    """The Gateway, its policies and the routes, in the order in which they must be created: nobody gets in before the
    policies are there."""
    made: list[Manifest] = []
    if exposure.create:
        made.append(_gateway(owner, exposure, exposure.create))
        if exposure.create.client_authority:
            made.append(_client_certificates(owner, exposure.name, exposure.create.client_authority))
    routes = []
    if exposure.hosts:
        # TensorFlow Serving's metrics and status pages stay inside.
        matches = [{"path": {"type": "PathPrefix", "value": "/v1/models"}}]
        routes.append(_route(owner, "HTTPRoute", exposure, exposure.hosts, matches, rest))
    if exposure.grpc_hosts:
        calls = [{"method": {"type": "Exact", **method}} for method in _METHODS]
        routes.append(_route(owner, "GRPCRoute", exposure, exposure.grpc_hosts, calls, grpc))
    if exposure.jwt:
        made.append(_tokens(owner, exposure.jwt, [route["kind"] for route in routes]))
    return made + routes


def _gateway(owner: Identity, exposure: GatewayArgs, new: NewGatewayArgs) -> Manifest:
    tls = {"mode": "Terminate", "certificateRefs": [{"kind": "Secret", "name": new.certificate}]}
    listeners = [
        {
            "name": f"https-{index}",
            "hostname": host,
            "port": 443,
            "protocol": "HTTPS",
            "tls": tls,
            "allowedRoutes": {"namespaces": {"from": "Same"}},
        }
        for index, host in enumerate((*exposure.hosts, *exposure.grpc_hosts))
    ]
    spec = {"gatewayClassName": new.gateway_class, "listeners": listeners}
    return _object(owner, API, "Gateway", exposure.name, spec)


def _route(
    owner: Identity,
    kind: str,
    exposure: GatewayArgs,
    hosts: Sequence[str],
    matches: Sequence[Mapping[str, Any]],
    port: int,
) -> Manifest:
    parent = {"name": exposure.name, **({"namespace": exposure.namespace} if exposure.namespace else {})}
    rule = {"matches": list(matches), "backendRefs": [{"name": owner.name, "port": port}]}
    return _object(owner, API, kind, owner.name, {"parentRefs": [parent], "hostnames": list(hosts), "rules": [rule]})


def _tokens(owner: Identity, jwt: JwtArgs, routes: Sequence[str]) -> Manifest:
    provider = {
        "name": "clients",
        "issuer": jwt.issuer,
        "audiences": list(jwt.audiences),
        "remoteJWKS": {"uri": jwt.jwks},
    }
    targets = [{"group": ROUTES, "kind": kind, "name": owner.name} for kind in routes]
    spec = {"targetRefs": targets, "jwt": {"providers": [provider]}}
    return _object(owner, ENVOY_API, "SecurityPolicy", owner.name, spec)


def _client_certificates(owner: Identity, gateway: str, authority: str) -> Manifest:
    validation = {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": authority}]}
    target = {"group": ROUTES, "kind": "Gateway", "name": gateway}
    spec = {"targetRefs": [target], "tls": {"clientValidation": validation}}
    return _object(owner, ENVOY_API, "ClientTrafficPolicy", owner.name, spec)


def _object(owner: Identity, api: str, kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
    return {"apiVersion": api, "kind": kind, "metadata": owner.metadata(name), "spec": dict(spec)}
