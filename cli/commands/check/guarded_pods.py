"""Pods with accelerators, and whether the guard lets them in: what `gpu_guard` says in the API server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tensorplane.components.admission import gpu_guard
from tensorplane.components.admission.accelerators import is_accelerator
from tensorplane.components.admission.gpu_guard import ADMITTED, GATE, RESOURCES
from tensorplane.components.admission.namespaces import Spaces

_MANAGED = "kueue.x-k8s.io/managed"
"""Label of pods that Kueue admits without a job."""
Object = Mapping[str, Any]


def with_accelerators(pods: Iterable[Object]) -> Iterator[Object]:
    """Those that have not ended."""
    for pod in pods:
        ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if not ended and _asks(pod["spec"]):
            yield pod


def is_refused(pod: Object, spaces: Spaces) -> bool:
    """Whether a pod with accelerators, in a namespace of the stack, could not be created again as it is."""
    if not spaces.kinds:
        return not _is_declared(pod, spaces)
    uncounted = _has(pod["spec"].get("overhead")) or (spaces.only_job_sets and bool(pod["spec"].get("resourceClaims")))
    return uncounted or not (_is_admitted(pod, spaces) or _is_declared(pod, spaces))


def _is_admitted(pod: Object, spaces: Spaces) -> bool:
    """Whether Kueue admitted its job or the pod itself, or has yet to admit it."""
    labels = pod["metadata"].get("labels") or {}
    gated = any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates") or ())
    if spaces.admits_pods and (gated or _MANAGED in labels):
        return True
    is_made = _is_owned(pod, "batch/Job") if spaces.only_job_sets else bool(pod["metadata"].get("ownerReferences"))
    return ADMITTED in labels and is_made


def _is_declared(pod: Object, spaces: Spaces) -> bool:
    """Whether it is of a workload that the settings declare without a queue."""
    declared = pod["spec"].get("serviceAccountName") in spaces.unqueued and _is_owned(
        pod, "apps/ReplicaSet", "batch/Job"
    )
    return declared and pod["metadata"]["namespace"] == spaces.stack and not _asks(pod["spec"], but=RESOURCES)


def _is_owned(pod: Object, *kinds: str) -> bool:
    """Whether an object of one of these kinds, each after its API group, owns it."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(f"{owner['apiVersion'].split('/')[0]}/{owner['kind']}" in kinds for owner in owners)


def _asks(spec: Object, *, but: Sequence[str] = ()) -> bool:
    """What `gpu_guard.asks` says in the API server."""
    containers = [*spec["containers"], *(spec.get("initContainers") or ())]
    resources = [one.get("resources") or {} for one in containers]
    amounts = [each.get(kind) for each in resources for kind in ("requests", "limits")]
    return bool(spec.get("resourceClaims")) or any(_has(each, but) for each in (*amounts, spec.get("overhead")))


def _has(amounts: Mapping[str, Any] | None, but: Sequence[str] = ()) -> bool:
    """Whether one of these amounts is of an accelerator."""
    return any(
        str(count) != "0" and is_accelerator(name) and name not in but for name, count in (amounts or {}).items()
    )


def gives_some(limit_range: Object) -> bool:
    """Whether a LimitRange gives accelerators to containers that request none."""
    limits = limit_range["spec"].get("limits") or ()
    return any(_has(limit.get(key)) for limit in limits for key in gpu_guard.DEFAULTS)
