"""Networks: load balancers are internal, traffic from outside is encrypted, namespaces deny by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from gpu_usage import embedded
from gpu_usage.manifest import Manifest
from stack_view import registered
from stack_view.finding import Finding
from stack_view.rule import Config, Rule, Severity, of_each
from stack_view.schemas import EXEMPT, words
from stack_view.view import Resource, View, at, known, maps

_SERVICE = ("core", "Service")
_NAMESPACE = ("core", "Namespace")
_POLICY = ("networking.k8s.io", "NetworkPolicy")
_INGRESS = ("networking.k8s.io", "Ingress")
_GATEWAY = ("gateway.networking.k8s.io", "Gateway")
_INTERNAL: Mapping[str, tuple[str, ...]] = {
    "service.beta.kubernetes.io/aws-load-balancer-scheme": ("internal",),
    "service.beta.kubernetes.io/aws-load-balancer-internal": ("true", "0.0.0.0/0"),
    "networking.gke.io/load-balancer-type": ("internal",),
    "cloud.google.com/load-balancer-type": ("internal",),
    "service.beta.kubernetes.io/azure-load-balancer-internal": ("true",),
}


def _balancers(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    # On the embedded cluster, a load balancer has an address of this machine.
    if manifest is None or manifest.type != _SERVICE or embedded.home(view):
        return
    if at(manifest.body, "spec", "type") == "LoadBalancer" and not (
        _is_internal(manifest) or _is_listed(resource, config)
    ):
        remedy = "annotate it as internal in its cloud's words, or list NAMESPACE/NAME in `public`"
        yield Finding("its load balancer has a public address", f"{remedy} in {view.config}")
    if known(manifest.body, "spec", "externalIPs"):
        yield Finding("`spec.externalIPs` takes over the traffic to addresses of others", "remove it")


def _is_internal(service: Manifest) -> bool:
    given = known(service.body, "metadata", "annotations") or {}
    return any(str(given.get(key)).lower() in values for key, values in _INTERNAL.items())


def _is_listed(resource: Resource, config: Config) -> bool:
    name = f"{resource.namespace}/{at(resource.body, 'metadata', 'name')}"
    return any(fnmatchcase(name, each) for each in config["public"])


def _encrypted(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest is None:
        return
    if manifest.type == _INGRESS and not maps(manifest.body, "spec", "tls"):
        yield Finding("it has no TLS: requests and predictions are readable on their way", "set `spec.tls`")
    for one in maps(manifest.body, "spec", "listeners") if manifest.type == _GATEWAY else ():
        if at(one, "protocol") in ("HTTP", "TCP"):
            problem = f"its listener {one.get('name')} has no TLS"
            yield Finding(problem, "use the protocol HTTPS or TLS")


def _denied(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest is None or manifest.type != _NAMESPACE or manifest.is_patch:
        return
    name = manifest.metadata("name")
    denies = any(one.namespace == name and _selects_all(policy.body) for one, policy in view.kinds(_POLICY))
    # Only a team with members has pods, and gets its policy with them.
    if not (denies or name in config["exemptNamespaces"] or name in registered.teams(view)):
        problem = "every pod of the cluster reaches every pod here"
        yield Finding(problem, "add a NetworkPolicy with `podSelector: {}` that admits what is needed")


def _selects_all(policy: Mapping[str, Any]) -> bool:
    types = known(policy, "spec", "policyTypes")
    return not at(policy, "spec", "podSelector") and (types is None or "Ingress" in types)


_TAGS = ["network", "security"]

POLICIES = [
    Rule(
        of_each(_balancers),
        name="load-balancers-internal",
        description="Load balancers are internal, except those in `public` (patterns of NAMESPACE/NAME).",
        remedy="Annotate the Service as internal.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config={"public": words()},
    ),
    Rule(
        of_each(_encrypted),
        name="ingress-tls",
        description="Ingresses and Gateways of the stack encrypt what comes in.",
        remedy="Configure TLS.",
        severity=Severity.HIGH,
        tags=_TAGS,
    ),
    Rule(
        of_each(_denied),
        name="namespace-default-deny",
        description="Every namespace has a NetworkPolicy for all its pods.",
        remedy="Add a NetworkPolicy for all pods.",
        severity=Severity.MEDIUM,
        tags=_TAGS,
        config=EXEMPT,
    ),
]
