"""Machines with accelerators in resources of clouds that are no node groups, as their fields name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpu_usage import accelerators
from gpu_usage.manifest import Path, dotted

from stack_view.view import Resource

_FIELDS = re.compile(
    r"(.*\.)?(.*(type|size|shape|sku|plan|flavor|machine|platform|preset)(s|id|name)?|sku\.name)", re.IGNORECASE
)
"""Those that name a machine."""
_MACHINES = (
    # As AWS, Google and Azure spell them. `ml.` is SageMaker's.
    re.compile(r"(ml\.)?(p|g|gr|trn|inf|dl|vt|f)\d\w*(-\w+)?\.(\d*xlarge|large|medium|metal(-\w+)?)"),
    re.compile(r"(.*/)?(a[2-9]|g[2-9]|ct\d)\w*-(high|mega|ultra|standard|max)\w*-\w+"),
    re.compile(r"Standard_N[A-Z]+\d\w*|(Consumption-GPU-)?N[A-Z]\d+-\w+", re.IGNORECASE),
)
_FAMILY = re.compile(r"(p|g|gr|trn|inf|dl|vt|f)\d\w*")
"""Of AWS' machines, which it then chooses itself."""
_OF_OTHERS = re.compile(r".*(gpu|[hab][12]00|l40|rtx|mi300|\.\w*gn\d).*|(gn|gt|pnv)\d.*|l4-.*", re.IGNORECASE)
"""As smaller clouds name machines and their sizes, after the accelerator."""
_ATTACHED = re.compile(r"guestAccelerators?|accelerators|accelerator(Type|Count)s?|gpus", re.IGNORECASE)
_CLOUD_PACKAGE = re.compile(r"(aws|gcp|azure|aws-native|azure-native|google-native)(-\w+)?")
_GROUPS = re.compile(
    r"(.*\.)?(cluster\.x-k8s\.io|kops\.k8s\.io|machine\.openshift\.io|upbound\.io|services\.k8s\.aws)"
    r"|.*cnrm\.cloud\.google\.com"
)
"""Kubernetes objects from which operators make machines."""
_NODE_GROUPS = {"aws": "NodeGroup", "gcp": "NodePool", "azure": "AgentPool"}


@dataclass(frozen=True)
class Machine:
    """A field with a machine that has accelerators."""

    path: str
    machine: str
    kind: str
    """The resource to declare instead."""


def of(resource: Resource) -> Machine | None:
    """The first machine with accelerators of a resource; None if it names none."""
    provider = resource.type.partition(":")[0]
    if provider in ("pulumi", "tensorplane") or (resource.manifest and not _GROUPS.fullmatch(resource.manifest.group)):
        return None
    found = next(_in(resource.body, (), is_large=_CLOUD_PACKAGE.fullmatch(provider) is not None), None)
    return found and Machine(*found, _NODE_GROUPS.get(provider.partition("-")[0], "node group"))


def _in(value: Any, path: Path, is_large: bool) -> Iterator[tuple[str, str]]:
    """Path and machine of each field. `is_large`: of a cloud whose machines have known names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            is_accelerator = _ATTACHED.fullmatch(key) or accelerators.is_named(key)
            if is_accelerator and inner not in (None, 0, [], {}, "", "0"):
                yield dotted((*path, key)), "attached"
            yield from _in(inner, (*path, key), is_large)
    elif isinstance(value, list):
        for each in value:
            yield from _in(each, path, is_large)
    elif isinstance(value, str) and _FIELDS.fullmatch(dotted(path)):
        is_family = path[-1].lower().startswith("instancetype") and _FAMILY.fullmatch(value)
        patterns = _MACHINES if is_large else (*_MACHINES, _OF_OTHERS)
        if is_family or any(pattern.fullmatch(value) for pattern in patterns):
            yield dotted(path), value
