"""Objects that scale others: autoscalers count with their maximum, patches with their value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpu_usage.manifest import UNKNOWN, Manifest, UncountableError, number, part, unknown

# KEDA's default, and its annotation that overrides the maximum.
_MOST = 100
_PAUSED = "autoscaling.keda.sh/paused-replicas"
_NUMBERS = frozenset(
    {
        *("replicas", "parallelism", "completions", "instances", "maxReplicas", "maxReplicaCount", "concurrencyPolicy"),
        *("replicatedJobs", "tasks", "jobTemplate", "jobTargetRef", "maxExecutors", "dynamicAllocation"),
    }
)


def scales(manifest: Manifest) -> bool:
    """Whether the object scales another one."""
    spec = manifest.body.get("spec")
    if not isinstance(spec, dict):
        return False
    return "scaleTargetRef" in spec or (manifest.is_patch and bool(_NUMBERS & spec.keys()))


def raised(manifest: Manifest, replicas: int) -> Manifest:
    """The object with at least this number of replicas."""
    spec = part(manifest.body, "spec")
    most = max(replicas, number(spec, "replicas", 1, ("spec",)))
    return replace(manifest, body={**manifest.body, "spec": {**spec, "replicas": most}})


def most(scaler: Manifest) -> int:
    """The maximum number of replicas that the scaler sets."""
    spec = part(scaler.body, "spec")
    if scaler.is_patch:
        others = sorted(_NUMBERS & spec.keys() - {"replicas"})
        if others:
            raise UncountableError(
                f"it patches `spec.{others[0]}`, which this rule does not count", "set it in the object itself"
            )
        return number(spec, "replicas", 1, ("spec",))
    key = "maxReplicas" if "maxReplicas" in spec else "maxReplicaCount"
    if key not in spec and scaler.group != "keda.sh":
        raise UncountableError("it scales without a maximum", "set `spec.maxReplicas`")
    paused = part(part(scaler.body, "metadata"), "annotations", ("metadata",))
    return max(number(spec, key, _MOST, ("spec",)), number(paused, _PAUSED, 0, ("metadata", "annotations")))


def targets(scaler: Manifest, manifests: Iterable[Manifest]) -> list[Manifest]:
    """The objects of this stack that the scaler may scale; several if namespaces are unknown."""
    kind, name = _reference(scaler)
    if name is UNKNOWN or kind is UNKNOWN:
        raise unknown(("metadata", "name") if scaler.is_patch else ("spec", "scaleTargetRef"))
    found = [
        each
        for each in manifests
        if not each.is_patch and (each.kind, each.metadata("name")) == (kind, name) and _one_namespace(scaler, each)
    ]
    if found:
        return found
    verb = "patches" if scaler.is_patch else "scales"
    problem = f"it {verb} {kind} {name}, which this stack does not declare, so its GPUs are not known here"
    raise UncountableError(problem, f"declare the {kind} in this stack, with a plain name")


def _reference(scaler: Manifest) -> tuple[Any, Any]:
    if scaler.is_patch:
        return scaler.kind, scaler.metadata("name")
    reference = part(part(scaler.body, "spec"), "scaleTargetRef", ("spec",))
    return reference.get("kind", "Deployment"), reference.get("name")


def _one_namespace(one: Manifest, other: Manifest) -> bool:
    """Whether two objects may be in the same namespace, which is unknown if the provider sets it."""
    namespaces = [each for each in (one.metadata("namespace"), other.metadata("namespace")) if isinstance(each, str)]
    return len(set(namespaces)) < 2
