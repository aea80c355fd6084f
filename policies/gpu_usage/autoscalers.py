"""Objects that run more pods of another one: autoscalers count with their maximum, patches with their value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpu_usage import multipliers
from gpu_usage.manifest import (
    UNKNOWN,
    Manifest,
    Path,
    UncountableError,
    UnseenError,
    dotted,
    number,
    part,
    unknown,
    whole_number,
)
from gpu_usage.most_pods import ROLLOUT

# KEDA's default, and its annotation that overrides the maximum.
_DEFAULT_MAXIMUM = 100
_PAUSED = "autoscaling.keda.sh/paused-replicas"
_NUMBERS = frozenset(
    {
        *("replicas", "parallelism", "completions", "instances", "maxReplicas", "maxReplicaCount", "concurrencyPolicy"),
        *("replicatedJobs", "tasks", "jobTemplate", "jobTargetRef", "maxExecutors", "dynamicAllocation"),
    }
)
# The same deeper inside kinds whose pods are counted.
_INSIDE = _NUMBERS | {"minReplicas", "numOfHosts", "size", "maxSurge", "previewReplicaCount", "pipelineParallelSize"}
_OF_KNATIVE = "autoscaling.knative.dev/"
# Where autoscalers have their maximum: Kubernetes', KEDA's, Datadog's, Google's, that of KEDA's HTTP add-on.
_BOUNDS: tuple[Path, ...] = (
    ("maxReplicas",),
    ("maxReplicaCount",),
    ("constraints", "maxReplicas"),
    ("constraints", "global", "maxReplicas"),
    ("replicas", "max"),
)
# `targetRef` is the target of many kinds, such as policies of gateways. One that sizes pods does not add any.
_NAMES = re.compile(r"(?!Vertical).*(autoscaler|scaler|autoscaling)", re.IGNORECASE)
_TARGETS = ("scaleTargetRef", "targetRef")
_KEDA = ("keda.sh", "http.keda.sh")
# Flagger runs a copy of its target.
_COPIES = ("flagger.app", "Canary")


def scales(manifest: Manifest) -> bool:
    """Whether the object scales another one."""
    spec = manifest.body.get("spec")
    if not isinstance(spec, dict):
        return False
    if manifest.is_patch:
        is_counted = manifest.type in multipliers.KINDS
        return bool(_NUMBERS & spec.keys()) or (is_counted and next(_numbers(spec), None) is not None)
    if "targetRef" in spec and not _is_scaler(manifest, spec):
        return False
    return any(key in spec for key in _TARGETS)


def copies(manifest: Manifest) -> bool:
    """Whether the object runs a copy of another one."""
    return manifest.type == _COPIES


def _is_scaler(manifest: Manifest, spec: Mapping[str, Any]) -> bool:
    return copies(manifest) or _NAMES.fullmatch(manifest.kind) is not None or _bound(spec) is not None


def _numbers(value: Any, path: Path = ("spec",)) -> Iterator[Path]:
    """Paths of what decides how many pods an object runs, at any depth."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        here = (*path, str(key))
        if key in _INSIDE or str(key).startswith(_OF_KNATIVE):
            yield here
        yield from _numbers(each, here)


def _bound(spec: Mapping[str, Any]) -> tuple[Path, Any] | None:
    """The path of the maximum, and the maximum; None without one."""
    for path in _BOUNDS:
        value: Any = spec
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None:
            return ("spec", *path), value
    return None


def raised(manifest: Manifest, replicas: int) -> Manifest:
    """The object with at least this number of replicas."""
    spec = part(manifest.body, "spec")
    most = max(replicas, number(spec, "replicas", 1, ("spec",)))
    return replace(manifest, body={**manifest.body, "spec": {**spec, "replicas": most}})


def scaled(target: Manifest, scaler: Manifest) -> Manifest:
    """The target with all the replicas that the scaler may run."""
    if copies(scaler):
        replicas, path = number(part(target.body, "spec"), "replicas", 1, ("spec",)), ("spec", "autoscalerRef")
        own = part(part(part(scaler.body, "spec"), "autoscalerRef", ("spec",)), "primaryScalerReplicas", path)
        return raised(target, replicas + max(replicas, number(own, "maxReplicas", 0, path)))
    return raised(target, most(scaler))


def most(scaler: Manifest) -> int:
    """The maximum number of replicas that the scaler sets."""
    spec = part(scaler.body, "spec")
    if scaler.is_patch:
        for path in sorted(each for each in _numbers(spec) if each != ("spec", "replicas")):
            problem = f"it patches `{dotted(path)}`, which this rule does not count"
            raise UncountableError(problem, "set it in the object itself")
        return number(spec, "replicas", 1, ("spec",))
    bound = _bound(spec)
    if bound is None and scaler.group not in _KEDA:
        # Kubernetes' own has one; others may have it elsewhere, so that only the user knows it.
        error = UncountableError if scaler.group == "autoscaling" else UnseenError
        raise error("it scales without a maximum", "set `spec.maxReplicas`")
    stated = whole_number(bound[1], bound[0]) if bound else _DEFAULT_MAXIMUM
    return max(stated, number(scaler.annotations, _PAUSED, 0, ("metadata", "annotations")))


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
    verb = "patches" if scaler.is_patch else "runs pods of" if scaler.type == ROLLOUT else "scales"
    problem = f"it {verb} {kind} {name}, which this stack does not declare, so its GPUs are not known here"
    raise UnseenError(problem, f"declare the {kind} in this stack, with a plain name")


def refers(manifest: Manifest) -> bool:
    """Whether the object runs the pods of another one's template, beside those of the other."""
    spec = manifest.body.get("spec")
    return manifest.type == ROLLOUT and isinstance(spec, dict) and "workloadRef" in spec


def with_template(manifest: Manifest, owner: Manifest) -> Manifest:
    """The object with the template that it refers to."""
    # A PodTemplate has it beside its metadata.
    template = part(part(owner.body, "spec"), "template", ("spec",)) or part(owner.body, "template")
    return replace(manifest, body={**manifest.body, "spec": {**part(manifest.body, "spec"), "template": template}})


def _reference(scaler: Manifest) -> tuple[Any, Any]:
    if scaler.is_patch:
        return scaler.kind, scaler.metadata("name")
    spec = part(scaler.body, "spec")
    key = "workloadRef" if refers(scaler) else next(key for key in _TARGETS if key in spec)
    reference = part(spec, key, ("spec",))
    return reference.get("kind", "Deployment"), reference.get("name")


def _one_namespace(one: Manifest, other: Manifest) -> bool:
    """Whether two objects may be in the same namespace, which is unknown if the provider sets it."""
    namespaces = [each for each in (one.metadata("namespace"), other.metadata("namespace")) if isinstance(each, str)]
    return len(set(namespaces)) < 2
