"""Objects with the most pods of each template as its `replicas`, which `multipliers` reads.

Kubernetes and operators tell that number by other fields: the size of a group, the maximum of an autoscaler, a surge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gpu_usage.manifest import (
    UNKNOWN,
    Manifest,
    Path,
    UncountableError,
    UnseenError,
    dotted,
    items,
    number,
    part,
    unknown,
)
from gpu_usage.pods_in import Search

Body = Mapping[str, Any]

ROLLOUT = ("argoproj.io", "Rollout")
_RAY: Mapping[tuple[str, str], Path] = {
    ("ray.io", "RayCluster"): ("spec",),
    ("ray.io", "RayJob"): ("spec", "rayClusterSpec"),
    ("ray.io", "RayService"): ("spec", "rayClusterConfig"),
}
_SCALES = ("max-scale", "maxScale", "min-scale", "minScale", "initial-scale")
_COMPONENTS = ("predictor", "transformer", "explainer")
_DEFAULT_SURGE = 0.25
"""Of Deployments and Rollouts. What each has by default does not count: it would refuse quotas that their pods fill."""


def of(manifest: Manifest) -> Manifest:
    """An object of these kinds with these numbers. Raises UncountableError if one has no maximum."""
    return replace(manifest, body=_RAISES[manifest.type](manifest))


def _deployment(manifest: Manifest) -> Body:
    path = ("spec", "strategy", "rollingUpdate")
    update = {} if _at(manifest.body, path[:-1]).get("type") == "Recreate" else _at(manifest.body, path)
    return _with_surge(manifest.body, update, path, _DEFAULT_SURGE)


def _with_surge(body: Body, update: Body, path: Path, usual: float) -> Body:
    """The body with the pods that an update has too many, if these are more than the usual part."""
    spec = part(body, "spec")
    replicas = number(spec, "replicas", 1, ("spec",))
    given = update.get("maxSurge")
    if isinstance(given, str) and given.endswith("%"):
        surge = math.ceil(replicas * number({"maxSurge": given[:-1]}, "maxSurge", 0, path) / 100)
    else:
        surge = number(update, "maxSurge", 0, path)
    more = surge if replicas and surge > math.ceil(usual * replicas) else 0
    return {**body, "spec": {**spec, "replicas": replicas + more}}


def _rollout(manifest: Manifest) -> Body:
    spec, path = part(manifest.body, "spec"), ("spec", "strategy")
    canary, blue_green = (_at(manifest.body, (*path, key)) for key in ("canary", "blueGreen"))
    replicas = number(spec, "replicas", 1, ("spec",))
    if blue_green:
        more = number(blue_green, "previewReplicaCount", replicas, (*path, "blueGreen"))
    elif canary.get("trafficRouting"):  # the old pods stay until the new ones have all requests
        more = max(replicas, _in_steps(canary, replicas, (*path, "canary")))
    else:
        body = _with_surge(manifest.body, canary, (*path, "canary"), _DEFAULT_SURGE)
        spec, more = part(body, "spec"), _in_steps(canary, replicas, (*path, "canary"))
        replicas = number(spec, "replicas", 1, ("spec",))
    return {**manifest.body, "spec": {**spec, "replicas": replicas + more}}


def _in_steps(canary: Body, replicas: int, path: Path) -> int:
    """The most pods that a step has beside the stable ones: those of its experiment, or of a scale that it sets."""
    most = 0
    for step in items(canary, "steps", path):
        scale, at = part(step, "setCanaryScale", path), (*path, "setCanaryScale")
        tried = items(part(step, "experiment", path), "templates", (*path, "experiment"))
        own = number(scale, "replicas", 0, at) or math.ceil(replicas * number(scale, "weight", 0, at) / 100)
        most = max(most, own + sum(number(each, "replicas", 1, (*path, "experiment")) for each in tried))
    return most


def _leader_worker_set(manifest: Manifest) -> Body:
    path = ("spec", "leaderWorkerTemplate")
    group = _at(manifest.body, path)
    workers = number(group, "size", 1, path) - (1 if group.get("leaderTemplate") else 0)
    changed = {key: value for key, value in group.items() if key != "workerTemplate"}
    if workers > 0:
        changed["workerTemplate"] = {**part(group, "workerTemplate", path), "replicas": workers}
    update = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")
    return _with_surge(_changed(manifest.body, path, changed), _at(manifest.body, update), update, 0)


def _ray(manifest: Manifest) -> Body:
    path = (*_RAY[manifest.type], "workerGroupSpecs")
    cluster = _at(manifest.body, path[:-1])
    scales = cluster.get("enableInTreeAutoscaling")
    if scales is UNKNOWN:
        raise unknown((*path[:-1], "enableInTreeAutoscaling"))
    groups = [_workers(group, path, bool(scales)) for group in items(cluster, path[-1], path[:-1])]
    return _changed(manifest.body, path, [each for each in groups if each["replicas"]])


def _workers(group: Body, path: Path, scales: bool) -> Body:
    if scales and "maxReplicas" not in group and _asks(group):
        raise UncountableError(f"a group of `{dotted(path)}` grows without a maximum", "set its `maxReplicas`")
    keys = ("replicas", "minReplicas", *(("maxReplicas",) if scales else ()))
    most = max((number(group, key, 0, path) for key in keys if key in group), default=1)
    return {**group, "replicas": most * number(group, "numOfHosts", 1, path)}


def _knative(manifest: Manifest) -> Body:
    owner: Path = () if manifest.kind == "Revision" else ("spec", "template")
    path = (*owner, "metadata", "annotations")
    annotations = _at(manifest.body, path)
    scales = [number(annotations, f"autoscaling.knative.dev/{key}", 0, path) for key in _SCALES]
    if not any(scales[:2]):
        problem = "Knative may start any number of pods of it"
        raise UncountableError(problem, f"set autoscaling.knative.dev/max-scale in `{dotted(path)}`")
    return _changed(manifest.body, owner, {**_at(manifest.body, owner), "replicas": max(scales)})


def _kserve(manifest: Manifest) -> Body:
    spec = part(manifest.body, "spec")
    parts = {key: part(spec, key, ("spec",)) for key in _COMPONENTS}
    raised = {key: _component(each, ("spec", key)) for key, each in parts.items() if _asks(each)}
    return {**manifest.body, "spec": {**spec, **raised}}


def _component(component: Body, path: Path) -> Body:
    most = number(component, "maxReplicas", 0, path)
    if not most:
        raise UncountableError(f"KServe may start any number of pods of `{dotted(path)}`", "set its `maxReplicas`")
    # Two versions, while a part of the requests goes to the new one.
    most = max(most, number(component, "minReplicas", 1, path)) * (2 if "canaryTrafficPercent" in component else 1)
    if "workerSpec" not in component:
        return {**component, "replicas": most}
    workers, at = part(component, "workerSpec", path), (*path, "workerSpec")
    if "pipelineParallelSize" not in workers:
        problem = f"how many pods `{dotted(at)}` has is not known here"
        raise UnseenError(problem, "set its `pipelineParallelSize`")
    others = max(1, number(workers, "pipelineParallelSize", 1, at) - 1)
    return {**component, "replicas": most, "workerSpec": {**workers, "replicas": others}}


def _kubeflow(manifest: Manifest) -> Body:
    """Elastic workers grow to the maximum of their policy."""
    spec = part(manifest.body, "spec")
    most = number(part(spec, "elasticPolicy", ("spec",)), "maxReplicas", 0, ("spec", "elasticPolicy"))
    path = ("spec", next((key for key in spec if key.endswith("ReplicaSpecs")), ""), "Worker")
    worker = _at(manifest.body, path)
    if not (most and worker):
        return manifest.body
    return _changed(manifest.body, path, {**worker, "replicas": max(most, number(worker, "replicas", 1, path))})


def _asks(value: Body) -> bool:
    return any(each.gpus for each in Search().demands(value))


def _at(body: Body, path: Path) -> Body:
    """The map at a path; empty if there is none."""
    for index, step in enumerate(path):
        body = part(body, step, path[:index])
    return body


def _changed(body: Body, path: Path, value: Any) -> Body:
    """The body with this value at a path. Without a path, that is the value."""
    for depth in range(len(path) - 1, -1, -1):
        value = {**_at(body, path[:depth]), path[depth]: value}
    changed: Body = value
    return changed


_RAISES: Mapping[tuple[str, str], Callable[[Manifest], Body]] = {
    ("apps", "Deployment"): _deployment,
    ("extensions", "Deployment"): _deployment,
    ROLLOUT: _rollout,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    **dict.fromkeys(_RAY, _ray),
    **dict.fromkeys((("serving.knative.dev", kind) for kind in ("Service", "Configuration", "Revision")), _knative),
    ("serving.kserve.io", "InferenceService"): _kserve,
    **dict.fromkeys(
        (("kubeflow.org", f"{kind}Job") for kind in ("MPI", "TF", "PyTorch", "XGBoost", "Paddle", "JAX")), _kubeflow
    ),
}
KINDS = frozenset(_RAISES)
"""Kinds with such numbers, whose pods are counted."""
