"""Node groups of EKS, GKE, AKS and Karpenter, as their own resources declare them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_usage.manifest import UNKNOWN, UncountableError, unknown, whole_number

from stack_view.view import Resource, at, known, maps

Machines = Mapping[str, int] | None
"""Accelerators of machines by their types; None where only matters whether they have any, which then count as one."""

# Families with accelerators, by cloud. What a new one is named must not hide it: these match by their first letters.
_AWS = re.compile(r"(p|g|gr|trn|inf|dl|vt|f)\d.*")
_GCP = re.compile(r"(?!g1-small)(a|g|ct)\d\w*-.*")
_AZURE = re.compile(r"Standard_N.*", re.IGNORECASE)
_GCP_COUNTED = re.compile(r"(?:a|ct)\d.*-(\d+)[gt]")
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
_GPU = "nvidia.com/gpu"
_TYPE = "node.kubernetes.io/instance-type"
# What a NodePool of Karpenter may require, and which values have accelerators.
_REQUIRED: Mapping[str, re.Pattern[str]] = {
    _TYPE: re.compile(f"{_AWS.pattern}|{_GCP.pattern}|(?i:{_AZURE.pattern})"),
    "karpenter.k8s.aws/instance-category": re.compile("g|p|gr|trn|inf|dl|vt|f"),
    "karpenter.k8s.aws/instance-family": _AWS,
    "karpenter.azure.com/sku-family": re.compile("N.*"),
}
_CAPACITY = "karpenter.sh/capacity-type"
_ZONES = 3
"""Zones of a region, if a pool counts per zone and names none."""


@dataclass(frozen=True)
class Read:
    """What a resource says about its nodes."""

    machine: str
    gpus: int
    """Of one node."""
    spot: bool
    smallest: int
    largest: int
    labels: Mapping[str, Any]
    taints: list[tuple[str, str, str]]
    """Key, value and effect."""


def _eks(body: Mapping[str, Any], machines: Machines) -> Read:
    types = _words(body, "instanceTypes")
    if not types and at(body, "launchTemplate") is not None:
        raise UncountableError("its machines are those of a launch template", "name them in its `instanceTypes`")
    sizes = known(body, "scalingConfig") or {}
    return Read(
        ", ".join(types),
        max((_accelerators(each, _AWS, machines) for each in types), default=0),
        known(body, "capacityType") == "SPOT",
        _count(sizes, "minSize"),
        _count(sizes, "maxSize"),
        known(body, "labels") or {},
        _taints(body),
    )


def _gke(body: Mapping[str, Any], machines: Machines) -> Read:
    config = known(body, "nodeConfig") or {}
    machine = str(known(config, "machineType") or "")
    attached = sum(_count(one, "count") for one in maps(config, "guestAccelerators"))
    match = _GCP_COUNTED.fullmatch(machine)
    own = int(match[1]) if match else attached or _accelerators(machine, _GCP, machines)
    scaling = known(body, "autoscaling") or {}
    zones = len(known(body, "nodeLocations") or ()) or _ZONES
    per_zone = max(_count(scaling, "maxNodeCount"), _count(body, "nodeCount"), _count(body, "initialNodeCount"))
    return Read(
        machine,
        own,
        known(config, "spot") is True or known(config, "preemptible") is True,
        max(_count(scaling, "totalMinNodeCount"), zones * _count(scaling, "minNodeCount")),
        max(_count(scaling, "totalMaxNodeCount"), zones * per_zone),
        known(config, "labels") or {},
        _taints(config),
    )


def _aks(body: Mapping[str, Any], machines: Machines) -> Read:
    pools = [body, *_mixed(body)]
    types = [str(each) for pool in pools for key in ("vmSize", "size") if (each := known(pool, key))]
    written = [str(each).partition("=") for each in known(body, "nodeTaints") or ()]
    taints = [(key, value.rpartition(":")[0], value.rpartition(":")[2]) for key, _, value in written]
    return Read(
        ", ".join(types),
        max((_accelerators(each, _AZURE, machines) for each in types), default=0),
        known(body, "scaleSetPriority") == "Spot",
        sum(_count(pool, "minCount") for pool in pools),
        sum(max(_count(pool, "maxCount"), _count(pool, "count")) for pool in pools),
        known(body, "nodeLabels") or {},
        taints,
    )


def _mixed(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Machines of several sizes in one pool."""
    scale = known(body, "virtualMachinesProfile", "scale") or {}
    return [each for key in ("manual", "autoscale") for each in maps(scale, key)]


def _karpenter(body: Mapping[str, Any], machines: Machines) -> Read:
    spec = known(body, "spec") or {}
    template = at(spec, "template", "spec") or {}
    chosen = [one for one in maps(template, "requirements") if at(one, "operator") in (None, "In")]
    wanted = {at(one, "key"): _words(one, "values") for one in chosen}
    return Read(
        "karpenter",
        _limited(spec, wanted, machines),
        "spot" in wanted.get(_CAPACITY, ()),
        0,
        1,
        known(spec, "template", "metadata", "labels") or {},
        [(str(one.get("key")), str(one.get("value", "")), str(one.get("effect"))) for one in maps(template, "taints")],
    )


def _limited(spec: Mapping[str, Any], wanted: Mapping[Any, list[str]], machines: Machines) -> int:
    """The accelerators of all nodes of a pool."""
    if any(wanted.get(key) and not any(map(having.fullmatch, wanted[key])) for key, having in _REQUIRED.items()):
        return 0
    limit = known(spec, "limits", _GPU)
    if limit is None and machines is None:
        return 1
    if limit is None:
        problem = "Karpenter may start machines with GPUs for it, without a limit"
        raise UncountableError(problem, f"set `spec.limits` of {_GPU}, or name categories of machines without GPUs")
    return whole_number(limit, ("spec", "limits", _GPU))


def _accelerators(machine: str, family: re.Pattern[str], machines: Machines) -> int:
    if machines and machine in machines:
        return whole_number(machines[machine], ("machines", machine))
    if family.fullmatch(machine):
        if machines is None:
            return 1
        problem = f"how many accelerators a {machine} has is not known here"
        raise UncountableError(problem, f'state it in the configuration of fleet-gpus: "machines": {{"{machine}": …}}')
    return 0


def _taints(owner: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (str(one.get("key")), str(one.get("value", "")), _EFFECTS.get(str(one.get("effect")), ""))
        for one in maps(owner, "taints")
    ]


def _words(owner: Mapping[str, Any], key: str) -> list[str]:
    """A list of words, of which the update may know none: any may be a machine with accelerators."""
    found = list(known(owner, key) or ())
    if UNKNOWN in found:
        raise unknown((key,))
    return [str(each) for each in found]


def _count(owner: Mapping[str, Any], key: str) -> int:
    return whole_number(known(owner, key) or 0, (key,))


KARPENTER = "kubernetes:karpenter.sh/v1:NodePool"
READERS: Mapping[str, Callable[[Mapping[str, Any], Machines], Read]] = {
    "aws:eks/nodeGroup:NodeGroup": _eks,
    "gcp:container/nodePool:NodePool": _gke,
    "azure-native:containerservice:AgentPool": _aks,
    KARPENTER: _karpenter,
}


def reader(resource: Resource) -> Callable[[Mapping[str, Any], Machines], Read] | None:
    """How to read a resource; None if it is no node group. A patch is one if it changes machines or their number."""
    manifest = resource.manifest
    if manifest is None or manifest.type != ("karpenter.sh", "NodePool"):
        return READERS.get(resource.type)
    changes = known(manifest.body, "spec") or {}
    return _karpenter if not manifest.is_patch or {"template", "limits"} & changes.keys() else None
