"""Dynamic resource allocation: claims of devices, whose number of accelerators is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_usage import accelerators
from gpu_usage.manifest import Manifest, Path, UncountableError, dotted, part

_CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")
# Device classes of network interfaces.
_NETWORK = frozenset({"mrdma.google.com", "netdev.google.com", "dra.net"})
_REMEDY = "request accelerators in `resources.limits` of a container"


def network_claims(manifests: Iterable[Manifest]) -> frozenset[str]:
    """Names of the claims and templates that request network interfaces only."""
    claims = (each for each in manifests if each.group == "resource.k8s.io" and each.kind in _CLAIMS)
    return frozenset(
        str(claim.metadata("name"))
        for claim in claims
        if (classes := list(_classes(claim.body))) and all(each in _NETWORK for each in classes)
    )


def refuse_class(device_class: Manifest) -> None:
    """Error of a device class with the name of one for network interfaces."""
    resource = part(device_class.body, "spec").get("extendedResourceName")
    if device_class.metadata("name") in _NETWORK or (resource and not accelerators.is_asked(str(resource))):
        raise UncountableError("its name is one of network interfaces, and so may pass for one", "give it another")


def refuse(value: Mapping[str, Any], path: Path, network: frozenset[str]) -> None:
    """Error of a map that claims devices other than network interfaces."""
    claims = value.get("resourceClaims")
    if claims and not (isinstance(claims, list) and all(_of(each) in network for each in claims)):
        raise UncountableError(f"`{dotted((*path, 'resourceClaims'))}` claims devices of unknown number", _REMEDY)
    if "deviceClassName" in value and value["deviceClassName"] not in _NETWORK:
        raise UncountableError(f"`{dotted(path)}` claims devices of unknown number", _REMEDY)


def _of(claim: Any) -> Any:
    if not isinstance(claim, dict):
        return None
    return claim.get("resourceClaimTemplateName") or claim.get("resourceClaimName")


def _classes(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        if "deviceClassName" in value:
            yield value["deviceClassName"]
        for inner in value.values():
            yield from _classes(inner)
    elif isinstance(value, list):
        for each in value:
            yield from _classes(each)
