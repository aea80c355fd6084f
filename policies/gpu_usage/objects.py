"""Counts the accelerators of one Kubernetes object, by its kind."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from gpu_usage import injected, multipliers, pods_in, shown, spark
from gpu_usage.manifest import Manifest, UncountableError
from gpu_usage.pods_in import Search

# Kubernetes' own groups: only pod specs in their kinds start pods.
_BUILT_IN = re.compile(
    r"[a-z]+|(admissionregistration|apiextensions|authentication|authorization|certificates|coordination|discovery"
    r"|events|node|networking|rbac\.authorization|scheduling|storage)\.k8s\.io|apiregistration\.k8s\.io"
)
# Other groups with known fields.
_GANGS = frozenset({("jobset.x-k8s.io", "JobSet"), ("batch.volcano.sh", "Job")})
_PODS = frozenset({"DaemonSet", "PodTemplate", "List"})
_TEXTS = frozenset({("core", "ConfigMap"), ("core", "Secret")})
# Kinds that describe machines and queues.
_CAPACITY = frozenset(
    {
        *(("kueue.x-k8s.io", kind) for kind in ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology")),
        *(("karpenter.sh", "NodePool"), ("karpenter.sh", "NodeClaim"), ("cloud.google.com", "ComputeClass")),
        *(("resource.k8s.io", "DeviceClass"), ("resource.k8s.io", "ResourceSlice")),
    }
)


def count(manifest: Manifest, network_claims: frozenset[str] = frozenset()) -> int:
    """Accelerators of one object. Raises UncountableError instead of guessing."""
    injected.refuse(manifest)
    if manifest.type in _TEXTS:
        _refuse_manifests(manifest)
        return 0
    if manifest.type in _CAPACITY or not _may_run_pods(manifest):
        return 0
    shown.refuse(manifest.annotations, ("metadata", "annotations"))
    body = spark.with_all_executors(manifest)
    is_open = not _BUILT_IN.fullmatch(manifest.group) and manifest.type not in _GANGS
    search = Search(custom=is_open, network_claims=network_claims)
    total = 0
    for demand in search.demands(body):
        if demand.gpus and manifest.is_patch:
            raise UncountableError("it adds GPUs to an object by a patch", "request them in the object itself")
        if demand.gpus:
            total += demand.gpus * multipliers.times(manifest, demand)
    return total


def of_one_pod_each(manifest: Manifest, network_claims: frozenset[str] = frozenset()) -> int:
    """Accelerators of an object that runs one pod of each kind that it describes."""
    injected.refuse(manifest)
    return sum(demand.gpus for demand in Search(custom=True, network_claims=network_claims).demands(manifest.body))


def _may_run_pods(manifest: Manifest) -> bool:
    if not _BUILT_IN.fullmatch(manifest.group):
        return True
    return manifest.type in multipliers.COUNTED or manifest.kind in _PODS or manifest.kind.endswith("List")


def _refuse_manifests(manifest: Manifest) -> None:
    """Fault of a manifest in a text, which an operator may apply."""
    for field, key, text in _texts(manifest.body):
        shown.refuse_entry(key, text, (field, key))
        if pods_in.in_text(text, (field, key)):
            problem = f"`{field}.{key}` holds a manifest that requests GPUs, and who applies it is not known here"
            raise UncountableError(problem, "declare its objects in the stack, or remove the GPUs")


def _texts(body: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for field in ("data", "stringData", "binaryData"):
        entries = body.get(field)
        for key, value in entries.items() if isinstance(entries, dict) else ():
            if isinstance(value, str):
                yield field, key, value
                if field != "stringData" and (decoded := _decoded(value)):
                    yield field, key, decoded


@cache
def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
