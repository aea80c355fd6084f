"""How often a request inside an object counts when all of the object's pods run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_usage import most_pods
from gpu_usage.manifest import Manifest, UncountableError, UnseenError, dotted, number, part
from gpu_usage.pods_in import Demand

# Kinds with a declared number of pods. For others, an operator decides.
_SCALED = frozenset(
    {
        ("core", "ReplicationController"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("extensions", "Deployment"),
        ("extensions", "ReplicaSet"),
        ("kubevirt.io", "VirtualMachineInstanceReplicaSet"),
        ("pool.kubevirt.io", "VirtualMachinePool"),
        most_pods.ROLLOUT,
    }
)
_JOBS = frozenset({("batch", "Job"), ("batch", "CronJob"), ("jobset.x-k8s.io", "JobSet"), ("batch.volcano.sh", "Job")})
_OTHER_KINDS = frozenset(
    {
        ("core", "Pod"),
        ("keda.sh", "ScaledJob"),
        ("kubevirt.io", "VirtualMachine"),
        ("kubevirt.io", "VirtualMachineInstance"),
        ("sparkoperator.k8s.io", "SparkApplication"),
        ("sparkoperator.k8s.io", "ScheduledSparkApplication"),
    }
)
KINDS = _SCALED | _JOBS | _OTHER_KINDS | most_pods.KINDS
# Kinds whose runs may overlap without a limit by default.
_REPEATED = frozenset({("batch", "CronJob"), ("sparkoperator.k8s.io", "ScheduledSparkApplication")})
_ELASTIC = "kueue.x-k8s.io/elastic-job"
_KEDA_MOST = 100


def times(manifest: Manifest, demand: Demand) -> int:
    """Maximum number of times that the object makes this request at once. Only called for requests above 0."""
    _refuse_unbounded(manifest)
    if manifest.type not in KINDS:
        if manifest.kind == "DaemonSet":
            problem = "its pods request GPUs on every node that they fit, so their number is not known here"
            raise UnseenError(problem, "use a Deployment or a Job, or remove the GPUs")
        shown = dotted(demand.path) or "its manifest"
        problem = f"it requests GPUs (`{shown}`), and how many pods a {manifest.kind} runs is not known here"
        raise UnseenError(problem, "request them in a Deployment, Job or JobSet, whose pods are counted")
    spec = part(manifest.body, "spec")
    if manifest.type in _SCALED and number(spec, "replicas", 1, ("spec",)) == 0:
        return 0
    most = number(spec, "maxReplicaCount", _KEDA_MOST, ("spec",)) if manifest.kind == "ScaledJob" else 1
    for owner in demand.trail:
        most *= _factor(owner)
    return most


def _factor(owner: Mapping[str, Any]) -> int:
    # At least 1: an invalid field must not hide the pods' requests, and a Job of
    # parallelism 0 only waits until somebody raises it.
    replicas = number(owner, "replicas", 1) * number(owner, "instances", 1)
    at_once = number(owner, "parallelism", 1)
    return max(1, replicas) * max(1, min(at_once, number(owner, "completions", at_once)))


def _refuse_unbounded(manifest: Manifest) -> None:
    spec = part(manifest.body, "spec")
    if manifest.type in _REPEATED and spec.get("concurrencyPolicy") not in ("Forbid", "Replace"):
        problem = "its runs may overlap without bound (concurrencyPolicy Allow), so their GPUs have no number"
        raise UncountableError(problem, "set `spec.concurrencyPolicy` to Forbid or Replace")
    annotations = manifest.metadata("annotations")
    if isinstance(annotations, dict) and annotations.get(_ELASTIC, "false") != "false":
        problem = f"the annotation {_ELASTIC} lets it grow while it runs, so its GPUs have no number"
        raise UncountableError(problem, "remove the annotation")
