"""The routes of the Gateway API from a Gateway to a server, which divide its requests between the stable pods and the
canary. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

API = "apis/gateway.networking.k8s.io/v1"
PLURALS = {"HTTPRoute": "httproutes", "GRPCRoute": "grpcroutes"}
"""What the API calls routes of each kind."""
BACKENDS = "tensorplane.dev/backends"
"""Annotation of the routes whose backends the controller writes; the platform removes it together with the canary."""
STABLE_SUFFIX, CANARY_SUFFIX = "-stable", "-canary"
"""What the names of the objects of the stable pods alone and of the canary end with, after the server's name."""
_WHOLE = 100


def get_weight(route: Mapping[str, Any], server: str) -> int | None:
    """The canary's part of a route's requests, in percent; None if the route does not divide them, as the platform
    creates it: all pods are then behind the server's own Service."""
    weights = {one["name"]: one.get("weight", 1) for one in route["spec"]["rules"][0]["backendRefs"]}
    stable, canary = weights.get(f"{server}{STABLE_SUFFIX}"), weights.get(f"{server}{CANARY_SUFFIX}")
    if stable is None or canary is None or sum(weights.values()) != _WHOLE or stable + canary != _WHOLE:
        return None
    return int(canary)


def weight_patch(server: str, port: int, weight: int, manager: str) -> list[dict[str, Any]]:
    """The JSON patch that gives the canary this part, in one step. The API server refuses it once the route is no
    longer this manager's."""
    backends = [
        {"name": f"{server}{STABLE_SUFFIX}", "port": port, "weight": _WHOLE - weight},
        {"name": f"{server}{CANARY_SUFFIX}", "port": port, "weight": weight},
    ]
    annotation = f"/metadata/annotations/{BACKENDS.replace('/', '~1')}"
    return [
        {"op": "test", "path": annotation, "value": manager},
        {"op": "replace", "path": "/spec/rules/0/backendRefs", "value": backends},
    ]
