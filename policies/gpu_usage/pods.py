"""Counts the accelerators of a pod, which is recognized by its list of containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_usage import accelerators, shown
from gpu_usage.declared import NOTHING, Declared
from gpu_usage.manifest import UNKNOWN, Path, UncountableError, items, part, unknown

_LISTS = ("containers", "initContainers")


def is_pod(value: Mapping[str, Any]) -> bool:
    """Whether a map is a pod's spec, anywhere in a manifest."""
    return any(_has_maps(value.get(key)) for key in _LISTS)


def _has_maps(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


def count(spec: Mapping[str, Any], path: Path, declared: Declared = NOTHING) -> int:
    """Accelerators of one pod. Init containers run before the others, sidecars concurrently with all that follow."""
    main = sum(_container(each, (*path, "containers")) for each in items(spec, "containers", path))
    start, sidecars = 0, 0
    for container in items(spec, "initContainers", path):
        requested = _container(container, (*path, "initContainers"))
        if requested and container.get("restartPolicy") == "Always":
            sidecars += requested
        else:
            start = max(start, sidecars + requested)
    most = max(start, sidecars + main)
    if not most:
        _refuse_runtime(spec.get("runtimeClassName"), (*path, "runtimeClassName"), declared)
    return most


def _refuse_runtime(runtime: Any, path: Path, declared: Declared) -> None:
    if runtime is UNKNOWN:
        raise unknown(path)
    if declared.shows_gpus(runtime):
        problem = f"runtimeClassName {runtime} may show its containers GPUs that they do not request"
        raise UncountableError(problem, "remove it, or request GPUs in `resources.limits`")


def _container(container: Mapping[str, Any], path: Path) -> int:
    shown.refuse_in_container(container, path)
    resources = part(container, "resources", path)
    for key in ("limits", "requests"):
        if resources.get(key) is UNKNOWN:
            raise unknown((*path, "resources", key))
    return accelerators.requested(resources, (*path, "resources"))
