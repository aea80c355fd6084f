"""Parts of the guard of GPUs that a deployed stack lacks: deleted by hand, or new in this version."""

from __future__ import annotations

from collections.abc import Iterator

from tensorplane.components.admission import gpu_guard as parts
from tensorplane.components.namespace.rules import DEFAULT_DENY
from tensorplane.core.kube import Kube
from tensorplane.stack import ResolvedStack, gpu_guard

_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
_KINDS = {
    "ValidatingAdmissionPolicy": f"{_REGISTRATION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{_REGISTRATION}/validatingadmissionpolicybindings",
}
_NETWORK_POLICY = "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies/{}"


def missing(resolved: ResolvedStack, api: Kube) -> list[str]:
    """Their kinds and names, in the stack's namespace and in those of teams. None of a stack that is not deployed."""
    config = resolved.config
    if api.get(_NETWORK_POLICY.format(config.namespace_name, DEFAULT_DENY)) is None:
        return []
    return [*_policies(resolved, api), *_quotas([config.namespace_name, *config.team_namespaces.values()], api)]


def _policies(resolved: ResolvedStack, api: Kube) -> Iterator[str]:
    wanted = [policy.name for policy in gpu_guard.policies(resolved)]
    for kind, path in _KINDS.items():
        there = {one["metadata"]["name"] for one in api.metadata(path)}
        yield from (f"{kind} {name}" for name in wanted if name not in there)


def _quotas(namespaces: list[str], api: Kube) -> Iterator[str]:
    there = {
        one["metadata"]["namespace"]
        for one in api.metadata("/api/v1/resourcequotas", fieldSelector=f"metadata.name={parts.QUOTA}")
    }
    created = {one["metadata"]["name"] for one in api.metadata("/api/v1/namespaces")}
    yield from (f"ResourceQuota {name}/{parts.QUOTA}" for name in namespaces if name in created - there)
