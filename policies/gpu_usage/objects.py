"""Counts the accelerators of one Kubernetes object, by its kind."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from gpu_usage import fractions, injected, most_pods, multipliers, mutations, pods_in, shown, spark
from gpu_usage.declared import NOTHING, Declared
from gpu_usage.manifest import Manifest, UncountableError, UnseenError
from gpu_usage.pods_in import Demand, Search

# Kubernetes' own groups: only pod specs in their kinds start pods.
_BUILT_IN = re.compile(
    r"[a-z]+|(admissionregistration|apiextensions|authentication|authorization|certificates|coordination|discovery"
    r"|events|node|networking|rbac\.authorization|scheduling|storage)\.k8s\.io|apiregistration\.k8s\.io"
)
# Other groups with known fields.
_GANGS = frozenset({("jobset.x-k8s.io", "JobSet"), ("batch.volcano.sh", "Job")})
_PODS = frozenset({"DaemonSet", "PodTemplate", "List"})
_TEXTS = frozenset({("core", "ConfigMap"), ("core", "Secret")})
_POD = ("core", "Pod")


def count(manifest: Manifest, declared: Declared = NOTHING) -> int:
    """Accelerators of one object. Raises UncountableError instead of guessing."""
    injected.refuse(manifest)
    if manifest.type in _TEXTS:
        _refuse_manifests(manifest)
        return 0
    if manifest.type in mutations.KINDS:
        _refuse_policy(manifest, declared)
        return 0
    if describes(manifest) or not _may_run_pods(manifest):
        return 0
    shown.refuse(manifest.annotations, ("metadata", "annotations"))
    raised = replace(manifest, body=spark.with_all_executors(manifest))
    demands = _demands(raised, declared)
    if demands and raised.type in most_pods.KINDS:
        raised = most_pods.of(raised)
        demands = _demands(raised, declared)
    return sum(demand.gpus * multipliers.times(raised, demand) for demand in demands)


def _demands(manifest: Manifest, declared: Declared) -> list[Demand]:
    """What the object requests, with what its own annotations do if it is a pod."""
    is_open = not _BUILT_IN.fullmatch(manifest.group) and manifest.type not in _GANGS
    own_fields = is_open and manifest.type not in multipliers.KINDS
    search = Search(custom=is_open, declared=declared, own_fields=own_fields)
    found = [each for each in search.demands(manifest.body) if each.gpus]
    if found and manifest.is_patch:
        raise UncountableError("it adds GPUs to an object by a patch", "request them in the object itself")
    path = ("metadata", "annotations")
    if manifest.type == _POD and (gpus := fractions.requested(manifest.annotations, path)):
        found.append(Demand(gpus, (), path))
    return found


def of_one_pod_each(manifest: Manifest, declared: Declared = NOTHING) -> int:
    """Accelerators of an object that runs one pod of each kind that it describes."""
    injected.refuse(manifest)
    return sum(demand.gpus for demand in Search(custom=True, declared=declared).demands(manifest.body))


def _refuse_policy(policy: Manifest, declared: Declared) -> None:
    """Error of a policy that gives GPUs to objects of others, or creates objects that request some."""
    mutations.refuse(policy, declared)
    for copied in mutations.copied(policy):
        if copied.type in multipliers.KINDS or copied.kind == "DaemonSet":
            problem = f"it copies objects of kind {copied.kind}, whose GPUs are not known here"
            raise UnseenError(problem, "declare them in the stack")
    for created in mutations.created(policy):
        if count(created, declared):
            problem = f"it creates objects of kind {created.kind} that request GPUs, and how many is not known here"
            raise UncountableError(problem, "declare them in the stack")


def _may_run_pods(manifest: Manifest) -> bool:
    if not _BUILT_IN.fullmatch(manifest.group):
        return True
    return manifest.type in multipliers.KINDS or manifest.kind in _PODS or manifest.kind.endswith("List")


def _refuse_manifests(manifest: Manifest) -> None:
    """Error of a manifest in a text, which an operator may apply."""
    for field, key, text in _texts(manifest.body):
        shown.refuse_entry(key, text, (field, key))
        if pods_in.in_text(text, (field, key)):
            problem = f"`{field}.{key}` holds a manifest that requests GPUs, and who applies it is not known here"
            raise UnseenError(problem, "declare its objects in the stack, or remove the GPUs")


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


_DESCRIBING = frozenset(
    {
        *(("kueue.x-k8s.io", kind) for kind in ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology")),
        *(("karpenter.sh", kind) for kind in ("NodePool", "NodeClaim", "NodeOverlay")),
        *(("resource.k8s.io", kind) for kind in ("DeviceClass", "ResourceSlice")),
        *(("scheduling.run.ai", "Queue"), ("scheduling.volcano.sh", "Queue"), ("scheduling.koordinator.sh", "Device")),
        *((f"scheduling.{group}", "PodGroup") for group in ("run.ai", "volcano.sh", "x-k8s.io", "sigs.k8s.io")),
        *((f"scheduling.{group}", "ElasticQuota") for group in ("x-k8s.io", "sigs.k8s.io")),
        *(("quota.koordinator.sh", "ElasticQuotaProfile"), ("nfd.k8s-sigs.io", "NodeFeatureRule")),
        *(("cloud.google.com", "ComputeClass"), ("topology.node.k8s.io", "NodeResourceTopology")),
        *(("policies.kyverno.io", kind) for kind in ("ValidatingPolicy", "ImageValidatingPolicy", "DeletingPolicy")),
    }
)
"""Kinds of operators that describe machines, queues and rules for others. What they hold, nobody requests by them."""
_DESCRIBING_GROUPS = re.compile(r"(constraints|templates|config)\.gatekeeper\.sh|slo\.koordinator\.sh|descheduler")
"""Of which every kind is one: rules of Gatekeeper, thresholds."""


def describes(manifest: Manifest) -> bool:
    """Whether the object only describes."""
    return manifest.type in _DESCRIBING or _DESCRIBING_GROUPS.fullmatch(manifest.group) is not None
