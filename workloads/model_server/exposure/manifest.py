"""The objects through which clients outside of the stack reach a model server."""

from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components.base.labels import BACKENDS, NAME, NAMESPACE_NAME, PATCH_FORCE, ROLLOUT_MANAGER
from tensorplane.components.base.model import In
from tensorplane.workloads.model_server.exposure.settings import (
    ClientArgs,
    GatewayArgs,
    JwtArgs,
    LoadBalancerArgs,
    NewGatewayArgs,
)
from tensorplane.workloads.model_server.manifest import GRPC_PORT, REST_PORT
from tensorplane.workloads.pods.objects import Identity, Manifest

ROUTES = "gateway.networking.k8s.io"
"""API group of the Gateway API."""
API = f"{ROUTES}/v1"
ENVOY = "gateway.envoyproxy.io"
"""API group of Envoy Gateway's policies."""
ENVOY_API = f"{ENVOY}/v1alpha1"

DIVIDED = "spec.rules[0].backendRefs"
"""Path of a route's backends, which the controller of a canary writes."""

_PATHS: Sequence[Mapping[str, Any]] = ({"path": {"type": "PathPrefix", "value": "/v1/models"}},)
"""What clients may ask over REST: TensorFlow Serving's metrics and status pages stay inside."""
_CALLS: Sequence[Mapping[str, Any]] = (
    {"method": {"type": "Exact", "service": "tensorflow.serving.PredictionService"}},
    {"method": {"type": "Exact", "service": "tensorflow.serving.ModelService", "method": "GetModelStatus"}},
    {"method": {"type": "Exact", "service": "grpc.health.v1.Health"}},
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
    return of_namespace(client.namespace or "")


def of_namespace(name: str) -> dict[str, Any]:
    """All pods of a namespace as peers of a NetworkPolicy."""
    return {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: name}}}


def routes(exposure: Any) -> dict[str, int]:
    """The kinds of the routes from a Gateway, and the port of the server to which each leads."""
    if not isinstance(exposure, GatewayArgs):
        return {}
    return {
        **({"HTTPRoute": REST_PORT} if exposure.hosts else {}),
        **({"GRPCRoute": GRPC_PORT} if exposure.grpc_hosts else {}),
    }


def through_gateway(owner: Identity, exposure: GatewayArgs, *, tries: bool) -> list[Manifest]:
    """The Gateway, its policies and the routes, in the order in which they must be created: nobody gets in before the
    policies are there. `tries`: whether the server has a canary, whose controller writes the routes' backends."""
    made: list[Manifest] = []
    if exposure.create:
        made.append(_gateway(owner, exposure, exposure.create))
        if exposure.create.client_authority:
            made.append(_client_certificates(owner, exposure.name, exposure.create.client_authority))
    ports = routes(exposure)
    if exposure.jwt:
        made.append(_tokens(owner, exposure.jwt, list(ports)))
    return made + [_route(owner, kind, exposure, port, tries=tries) for kind, port in ports.items()]


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


def _route(owner: Identity, kind: str, exposure: GatewayArgs, port: int, *, tries: bool) -> Manifest:
    parent = {"name": exposure.name, **({"namespace": exposure.namespace} if exposure.namespace else {})}
    hosts, matches = (exposure.hosts, _PATHS) if kind == "HTTPRoute" else (exposure.grpc_hosts, _CALLS)
    rule = {"matches": [*matches], "backendRefs": [{"name": owner.name, "port": port}]}
    spec = {"parentRefs": [parent], "hostnames": list(hosts), "rules": [rule]}
    made = _object(owner, API, kind, owner.name, spec)
    # A route that no controller divides any more gets its one backend back, whoever wrote the others.
    made["metadata"]["annotations"] = {PATCH_FORCE: "true", **({BACKENDS: ROLLOUT_MANAGER} if tries else {})}
    return made


def _tokens(owner: Identity, jwt: JwtArgs, kinds: Sequence[str]) -> Manifest:
    provider = {
        "name": "clients",
        "issuer": jwt.issuer,
        "audiences": list(jwt.audiences),
        "remoteJWKS": {"uri": jwt.jwks},
    }
    targets = [{"group": ROUTES, "kind": kind, "name": owner.name} for kind in kinds]
    spec = {"targetRefs": targets, "jwt": {"providers": [provider]}}
    return _object(owner, ENVOY_API, "SecurityPolicy", owner.name, spec)


def _client_certificates(owner: Identity, gateway: str, authority: In[str]) -> Manifest:
    validation = {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": authority}]}
    target = {"group": ROUTES, "kind": "Gateway", "name": gateway}
    spec = {"targetRefs": [target], "tls": {"clientValidation": validation}}
    return _object(owner, ENVOY_API, "ClientTrafficPolicy", owner.name, spec)


def _object(owner: Identity, api: str, kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
    return {"apiVersion": api, "kind": kind, "metadata": owner.metadata(name), "spec": dict(spec)}
