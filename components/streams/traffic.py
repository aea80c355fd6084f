"""NetworkPolicies of streams, in a namespace that denies all traffic by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components import versions
from tensorplane.components.agent import agent as agent_agent
from tensorplane.components.base.labels import NAMESPACE_NAME, labels
from tensorplane.components.base.model import In
from tensorplane.components.base.produced import Produced
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.streams.access import client_label
from tensorplane.components.streams.broker import Request


def clients(
    request: Request, ports: In[Sequence[int]], opts: pulumi.ResourceOptions, brokers: Mapping[str, str] | None = None
) -> None:
    """Allows the stream's clients to reach these ports, of brokers with these labels or anywhere."""
    rule: dict[str, Any] = {"ports": _ports(ports)}
    if brokers:
        rule["to"] = [_pods(brokers)]
    _policy(request, "clients", client_label(request.name), {"egress": [rule]}, opts)


def brokers(
    request: Request, pod_labels: Mapping[str, str], ports: Sequence[int], opts: pulumi.ResourceOptions
) -> None:
    """Allows only the stream's clients to reach the brokers, and KEDA, which asks for the lag of groups."""
    peers = [_pods(client_label(request.name))]
    if request.autoscaled:
        peers.append({"namespace_selector": {"match_labels": {NAMESPACE_NAME: versions.KEDA.namespace}}})
    rule = {"from_": peers, "ports": _ports(ports)}
    _policy(request, "brokers", pod_labels, {"ingress": [rule]}, opts)


def operated(
    request: Request,
    part: str,
    pod_labels: Mapping[str, str],
    opts: pulumi.ResourceOptions,
    *,
    to: Mapping[str, str],
    ports: In[Sequence[int]] = (),
) -> None:
    """Allows egress of Strimzi's pods to pods with the labels `to`, the API server, and these ports anywhere.

    Strimzi creates the policies for ingress.
    """
    outside = {"ports": _ports(_with_api_server(ports))}
    _policy(request, part, pod_labels, {"egress": [{"to": [_pods(to)]}, outside]}, opts)


def _policy(
    request: Request, part: str, selected: Mapping[str, str], rules: dict[str, Any], opts: pulumi.ResourceOptions
) -> None:
    name = f"{request.name}-stream-{part}"
    types = [rule.capitalize() for rule in rules]
    spec: Any = {"pod_selector": {"match_labels": dict(selected)}, "policy_types": types, **rules}
    k8s.networking.v1.NetworkPolicy(
        name,
        metadata={"name": name, "namespace": request.namespace.name, "labels": labels(request.name, "stream")},
        spec=spec,
        opts=opts,
    )


def _pods(pod_labels: Mapping[str, str]) -> dict[str, Any]:
    return {"pod_selector": {"match_labels": dict(pod_labels)}}


def _ports(ports: In[Sequence[int]]) -> Any:
    if isinstance(ports, Produced):
        return ports.apply(_ports)
    return [{"protocol": "TCP", "port": port} for port in ports]


def _with_api_server(ports: In[Sequence[int]]) -> Any:
    if isinstance(ports, Produced):
        return ports.apply(_with_api_server)
    return sorted({*agent_agent.API_SERVER_PORTS, *ports})
