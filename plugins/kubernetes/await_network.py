"""Readiness of a Service (its endpoints, its load balancer) and of an Ingress.

Follows the conditions that pulumi-kubernetes documents on `core/v1:Service` and `networking.k8s.io/v1:Ingress`, but
reads endpoints from EndpointSlices, because Endpoints objects are deprecated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tensorplane.plugins.kubernetes.await_result import Awaiter, CheckResult, Lookup, Object, Related, dig, full_name

SETTLE_SECONDS = 10.0
"""How long endpoints must stay as they are, "for any stragglers"."""

NO_ENDPOINTS_SECONDS = 60.0
"""How long an Ingress waits for endpoints of its services, which may never have any."""

_SERVICE_LABEL = "kubernetes.io/service-name"


def check_service(service: Object, related: Related) -> CheckResult:
    name = full_name(service)
    spec = dig(service, "spec", default={})
    if spec.get("type") == "LoadBalancer" and not dig(service, "status", "loadBalancer", "ingress"):
        reason = "the load balancer has no address; does this cluster provide load balancers?"
        return CheckResult(False, f"Waiting for an address of Service {name!r}", (reason,))
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") == "None" or not spec.get("selector"):
        return CheckResult(True, f"Service {name!r} is ready")
    slices = related.get("EndpointSlice", ())
    if not slices:
        return CheckResult(False, f"Finding Pods for Service {name!r}", ("no endpoints exist yet",))
    endpoints = [end for found in slices for end in found.get("endpoints") or ()]
    unready = [end for end in endpoints if not _is_ready(end)]
    if unready:
        reason = f"{len(unready)} of {len(endpoints)} endpoints are not ready"
        return CheckResult(False, f"Waiting for the endpoints of Service {name!r}", (reason,))
    return CheckResult(True, f"Service {name!r} is ready", settle_seconds=SETTLE_SECONDS, evidence=_digest(slices))


def check_ingress(ingress: Object, related: Related) -> CheckResult:
    """An address, and endpoints for each service in a path; services without endpoints only delay it."""
    name = full_name(ingress)
    if not dig(ingress, "status", "loadBalancer", "ingress"):
        reason = "no controller has given the Ingress an address (.status.loadBalancer.ingress)"
        return CheckResult(False, f"Waiting for an address of Ingress {name!r}", (reason,))
    slices = related.get("EndpointSlice", ())
    known = {dig(found, "metadata", "labels", _SERVICE_LABEL) for found in slices}
    known |= {service["metadata"]["name"] for service in related.get("Service", ()) if _is_external(service)}
    missing = sorted(_services(ingress) - known)
    if not missing:
        return CheckResult(True, f"Ingress {name!r} is ready")
    status = f"No endpoints for {', '.join(missing)} of Ingress {name!r}"
    wait = SETTLE_SECONDS if slices else NO_ENDPOINTS_SECONDS
    return CheckResult(True, status, settle_seconds=wait, evidence=_digest(slices))


def _is_ready(endpoint: Object) -> bool:
    """An unset condition means "unknown", which the API says to read as ready."""
    return bool(dig(endpoint, "conditions", "ready", default=True))


def _is_external(service: Object) -> bool:
    return bool(dig(service, "spec", "type") == "ExternalName")


def _services(ingress: Object) -> set[str]:
    rules = dig(ingress, "spec", "rules", default=())
    paths = [path for rule in rules for path in dig(rule, "http", "paths", default=())]
    return {name for path in paths if (name := dig(path, "backend", "service", "name"))}


def _digest(slices: Iterable[Object]) -> str:
    return json.dumps(sorted(json.dumps(found.get("endpoints"), sort_keys=True) for found in slices))


def _own_slices(service: Object) -> str | None:
    return f"{_SERVICE_LABEL}={service['metadata']['name']}"


SERVICE = Awaiter(check_service, (Lookup("discovery.k8s.io/v1", "EndpointSlice", _own_slices),), on_read=True)
INGRESS = Awaiter(
    check_ingress, (Lookup("discovery.k8s.io/v1", "EndpointSlice"), Lookup("v1", "Service")), on_read=True
)
