"""What the provider knows about kinds without a server: Pulumi's type tokens, built-in groups, special kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorplane.core.gvk import GVK

HELM_RELEASE = "kubernetes:helm.sh/v3:Release"

_BUILT_IN_GROUPS = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "auditregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "settings.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)

# The SDK's names of functions and components, by token.
_OF_THE_SDK = {
    "kubernetes:helm:template": "helm.v3.Chart",
    "kubernetes:helm.sh/v4:Chart": "helm.v4.Chart",
    "kubernetes:kustomize:directory": "kustomize.Directory",
    "kubernetes:kustomize/v2:Directory": "kustomize.v2.Directory",
    "kubernetes:yaml:decode": "yaml.ConfigFile and yaml.ConfigGroup",
    "kubernetes:yaml/v2:ConfigFile": "yaml.v2.ConfigFile",
    "kubernetes:yaml/v2:ConfigGroup": "yaml.v2.ConfigGroup",
}


def refusal(type_token: str) -> str:
    """Why a function or a component is not supported, and what to use."""
    instead = "helm.v3.Release" if ":helm" in type_token else "a resource for each object"
    return (
        f"{_OF_THE_SDK.get(type_token, type_token)}: not supported by the embedded Kubernetes provider; "
        f"declare {instead}, or install Pulumi's own kubernetes plugin"
    )


def token(urn: str) -> str:
    """The type token of a URN: `kubernetes:core/v1:Pod` of `urn:pulumi:s::p::parent$kubernetes:core/v1:Pod::name`."""
    return urn.split("::")[2].rpartition("$")[2]


def name(urn: str) -> str:
    """The Pulumi resource's own name."""
    return urn.split("::", 3)[3]


def gvk_of_token(type_token: str) -> GVK:
    """The kind of a type token; `…Patch` tokens are kinds of their own."""
    _, api_version, kind = type_token.split(":", 2)
    return GVK.parse(api_version, kind)


def is_list(type_token: str) -> bool:
    gvk = gvk_of_token(type_token)
    return gvk.group in _BUILT_IN_GROUPS and gvk.kind.endswith("List")


def is_patch(type_token: str, obj: Mapping[str, Any]) -> bool:
    """Whether it is a patch, such as `PodPatch`: it manages some fields of an object that it did not create."""
    return gvk_of_token(type_token).kind == f"{obj.get('kind')}Patch"


def is_built_in(gvk: GVK) -> bool:
    """Kubernetes' own kinds, as opposed to those of a CustomResourceDefinition."""
    return gvk.group in _BUILT_IN_GROUPS


def is_crd(obj: Mapping[str, Any]) -> bool:
    return obj.get("kind") == "CustomResourceDefinition" and str(obj.get("apiVersion")).startswith("apiextensions.k8s")


def is_secret(obj: Mapping[str, Any]) -> bool:
    return obj.get("kind") == "Secret" and obj.get("apiVersion") in ("v1", "core/v1")
