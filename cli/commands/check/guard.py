"""Pods with accelerators that the guard refuses when they start again, and where it lets them in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cli.output.texts import first
from components.base.faults import Note
from components.base.labels import PART_OF, TENSORPLANE
from components.base.plural import counted
from components.queues import gpu_guard
from driver.kube import Kube
from stack import ResolvedStack

_AT = ("gpusInOtherNamespaces",)
_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
_SHOWN = 5
_Object = Mapping[str, Any]


def notes(resolved: ResolvedStack, api: Kube) -> Iterator[Note]:
    """A line on pods in namespaces that no stack manages, with accelerators, or where nothing refuses those."""
    config = resolved.config
    if config.platform:
        return
    own = {config.namespace_name, *config.team_namespaces.values()}
    spared = own | {one["metadata"]["name"] for one in api.metadata("/api/v1/namespaces") if _is_spared(one)}
    pods = [pod for pod in api.items("/api/v1/pods") if pod["metadata"]["namespace"] not in spared]
    yield from _notes(
        config.gpus_in_other_namespaces, _in_force(api, config.namespace_name), list(_with_accelerators(pods))
    )


def _notes(asked: gpu_guard.Action | None, in_force: str | None, pods: list[str]) -> Iterator[Note]:
    """`in_force`: what the cluster does now. `pods`: those with accelerators, as `namespace/name`."""
    held = f": {counted(len(pods), 'pod')} with GPUs there ({first(pods, _SHOWN)})" if pods else ""
    if "deny" in (asked, in_force):
        if pods:
            remedy = f"run them in a queue, or label their namespaces {gpu_guard.ALLOWED}=allowed"
            yield Note(_AT, f"deny refuses pods that run now when they start again{held}; {remedy}")
    elif asked != "allow":
        how = "are only warned about" if in_force else "are let in"
        yield Note(
            _AT, f"pods with GPUs in namespaces that no stack manages {how}{held}; set it to deny, warn or allow"
        )


def _is_spared(namespace: _Object) -> bool:
    labels = namespace["metadata"].get("labels") or {}
    return labels.get(PART_OF) == TENSORPLANE[PART_OF] or labels.get(gpu_guard.ALLOWED) == "allowed"


def _with_accelerators(pods: Iterable[_Object]) -> Iterator[str]:
    for pod in pods:
        ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if not ended and _asks(pod["spec"]):
            yield f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _asks(spec: _Object) -> bool:
    """What `gpu_guard.asks` says in the API server."""
    containers = [*spec["containers"], *(spec.get("initContainers") or ())]
    resources = [one.get("resources") or {} for one in containers]
    amounts = [each.get(kind) or {} for each in resources for kind in ("requests", "limits")]
    asked = [
        name for each in (*amounts, spec.get("overhead") or {}) for name, count in each.items() if str(count) != "0"
    ]
    return bool(spec.get("resourceClaims")) or any(re.search(gpu_guard.PATTERN, name) for name in asked)


def _in_force(api: Kube, stack: str) -> str | None:
    binding = api.get(f"{_BINDINGS}/{stack}{gpu_guard.OTHER}")
    return str(binding["spec"]["validationActions"][0]).lower() if binding else None
