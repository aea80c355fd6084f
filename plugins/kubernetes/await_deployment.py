"""Readiness of a Deployment: its newest ReplicaSet has all of its pods, and its claims are bound.

Follows the conditions that pulumi-kubernetes documents on `apps/v1:Deployment`.
"""

from __future__ import annotations

from tensorplane.plugins.kubernetes.await_result import (
    PODS,
    Awaiter,
    CheckResult,
    Lookup,
    Object,
    Related,
    condition,
    dig,
    explain,
    full_name,
    is_observed,
    is_owned,
    is_true,
    label_selector,
)

_REVISION = "deployment.kubernetes.io/revision"
_HASH = "pod-template-hash"


def check(deployment: Object, related: Related) -> CheckResult:
    name = full_name(deployment)
    if not is_observed(deployment):
        return CheckResult(False, f"Waiting for the Deployment controller to see {name!r}")
    current = _current_set(deployment, related)
    if current is None:
        return CheckResult(False, f"Waiting for {name!r} to create its ReplicaSet", _troubles(deployment))
    wanted = dig(current, "spec", "replicas", default=1)
    have = dig(current, "status", "readyReplicas", default=0)
    unbound = _unbound_claims(deployment, related)
    reasons = _troubles(deployment)
    if have < wanted:
        reasons += (f"{have} of {wanted} Pods of the newest ReplicaSet are ready",)
    if unbound:
        reasons += (f"PersistentVolumeClaims that are not bound: {', '.join(unbound)}",)
    ready = have >= wanted and not unbound and is_true(condition(deployment, "Available")) and _rolled_out(deployment)
    if ready:
        return CheckResult(True, f"Deployment {name!r} is ready")
    return CheckResult(False, f"Waiting for Deployment {name!r} ({have}/{wanted} Pods ready)", reasons)


def pods(deployment: Object, related: Related) -> list[Object]:
    """Only the newest ReplicaSet's pods: problems of pods that are being replaced do not matter."""
    current = _current_set(deployment, related)
    return [pod for pod in related.get("Pod", ()) if current and is_owned(pod, current)]


def _current_set(deployment: Object, related: Related) -> Object | None:
    """The ReplicaSet of the current pod template.

    The revision is not enough: with the Recreate strategy the controller reports the new generation as observed while
    the old ReplicaSet still has the newest revision and all of its pods.
    """
    revision = dig(deployment, "metadata", "annotations", _REVISION)
    template = _comparable(dig(deployment, "spec", "template", default={}))
    for found in related.get("ReplicaSet", ()):
        is_newest = revision is not None and dig(found, "metadata", "annotations", _REVISION) == revision
        if is_newest and _comparable(dig(found, "spec", "template", default={})) == template:
            return found
    return None


def _comparable(template: Object) -> Object:
    """A pod template without the labels that the controller adds to its copy; the controller compares them so."""
    metadata = {key: value for key, value in dig(template, "metadata", default={}).items() if value is not None}
    labels = {key: value for key, value in metadata.get("labels", {}).items() if key != _HASH}
    return {"metadata": metadata | {"labels": labels}, "spec": template.get("spec")}


def _rolled_out(deployment: Object) -> bool:
    """The first revision is created rather than rolled out, so it has no condition of a finished rollout."""
    if dig(deployment, "metadata", "annotations", _REVISION) == "1":
        return True
    progressing = condition(deployment, "Progressing")
    return is_true(progressing) and dig(progressing, "reason") == "NewReplicaSetAvailable"


def _troubles(deployment: Object) -> tuple[str, ...]:
    paused = ("the Deployment is paused (.spec.paused)",) if dig(deployment, "spec", "paused") else ()
    kinds = ("ReplicaFailure", "Progressing", "Available")
    conditions = [found for kind in kinds if (found := condition(deployment, kind)) and _is_trouble(found)]
    return paused + tuple(line for found in conditions for line in explain(found))


def _is_trouble(found: Object) -> bool:
    return is_true(found) if found["type"] == "ReplicaFailure" else found.get("status") == "False"


def _unbound_claims(deployment: Object, related: Related) -> list[str]:
    names = {dig(v, "persistentVolumeClaim", "claimName") for v in _volumes(deployment)}
    claims = (claim for claim in related.get("PersistentVolumeClaim", ()) if dig(claim, "metadata", "name") in names)
    return [claim["metadata"]["name"] for claim in claims if dig(claim, "status", "phase") != "Bound"]


def _volumes(deployment: Object) -> list[Object]:
    return list(dig(deployment, "spec", "template", "spec", "volumes", default=()))


def _has_claims(deployment: Object) -> str | None:
    return "" if any("persistentVolumeClaim" in volume for volume in _volumes(deployment)) else None


AWAITER = Awaiter(
    check,
    (
        Lookup("apps/v1", "ReplicaSet", label_selector, owned=True),
        Lookup("v1", "Pod", PODS.select),
        Lookup("v1", "PersistentVolumeClaim", _has_claims),
    ),
    on_read=True,
    pods=pods,
)
