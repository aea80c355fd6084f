"""Counts the GPUs that a Kubernetes object's pods ask for when all of them run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

_REPLICATED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
_NOTHING: Mapping[str, Any] = {}


class UncountableError(Exception):
    """The object asks for GPUs, or may do so, in a way that gives no number."""


def count(kind: str, manifest: Mapping[str, Any]) -> int:
    """GPUs of one object. Raises UncountableError or UnknownValueError instead of guessing."""
    spec = _part(manifest, "spec")
    if kind == "Pod":
        return _pod(spec)
    if kind in _REPLICATED:
        return _times(_pod(_template(spec)), spec, "replicas")
    if kind == "Job":
        return _job(spec)
    if kind == "CronJob":
        return _job(_part(_part(spec, "jobTemplate"), "spec"))
    if kind == "JobSet":
        return sum(_times(_job(_template(job)), job, "replicas") for job in spec.get("replicatedJobs") or ())
    if kind == "DaemonSet" and _pod(_template(spec)):
        raise UncountableError("its pods ask for GPUs on every node that they fit, so their number is not known here")
    if kind != "DaemonSet" and _mentions_gpus(manifest):
        raise UncountableError(f"it asks for GPUs, and how many pods a {kind} runs is not known here")
    return 0


def is_pod_bearing(token: str) -> bool:
    """Whether a resource type is a Kubernetes object of which `count` knows how many pods it runs."""
    kind = token.rpartition(":")[2]
    return token.startswith("kubernetes:") and kind in _REPLICATED | {"Pod", "Job", "CronJob", "JobSet"}


def whole_number(value: Any) -> int:
    """A count as YAML, Kubernetes or Pulumi may spell it: 2, 2.0 or "2"."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or number < 0 or not number.is_integer():
        raise UncountableError(f"{value!r} is no number of GPUs")
    return int(number)


def _job(spec: Mapping[str, Any]) -> int:
    gpus = _pod(_template(spec))
    if not gpus:
        return 0
    completions = spec.get("completions")
    at_once = _number(spec, "parallelism")
    return gpus * (at_once if completions is None else min(at_once, whole_number(completions)))


def _pod(spec: Mapping[str, Any]) -> int:
    if spec.get("resourceClaims"):
        raise UncountableError("its pods ask for devices by resource claims, which this rule does not count")
    main = sum(_container(container) for container in spec.get("containers") or ())
    start, beside = 0, 0
    for container in spec.get("initContainers") or ():
        gpus = _container(container)
        if gpus and container.get("restartPolicy") == "Always":  # a sidecar keeps what it asks for
            beside += gpus
        else:
            start = max(start, beside + gpus)
    return max(start, beside + main)


def _container(container: Mapping[str, Any]) -> int:
    resources = _part(container, "resources")
    # Kubernetes wants equal limits and requests of GPUs, and takes one for the other.
    asked = {**_gpus(_part(resources, "requests")), **_gpus(_part(resources, "limits"))}
    return sum(asked.values())


def _gpus(quantities: Mapping[str, Any]) -> dict[str, int]:
    return {name: whole_number(quantities[name]) for name in quantities if _is_gpu(name)}


def _is_gpu(resource: str) -> bool:
    vendor, _, device = resource.partition("/")
    return bool(device) and (device.startswith(("gpu", "mig-")) or vendor.startswith("gpu."))


def _mentions_gpus(manifest: Mapping[str, Any]) -> bool:
    for resources in _all_resources(manifest):
        for key in ("limits", "requests"):
            quantities = resources.get(key)
            if isinstance(quantities, Mapping) and any(_is_gpu(name) for name in quantities):
                return True
    return False


def _all_resources(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every `resources:` mapping in a manifest. What is unknown elsewhere, a status or an address, does not matter."""
    if isinstance(value, Mapping):
        for key in value:
            try:
                inner = value[key]
            except UnknownValueError:
                if key == "resources":
                    raise
                continue
            if key == "resources" and isinstance(inner, Mapping):
                yield inner
            yield from _all_resources(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index in range(len(value)):
            try:
                inner = value[index]
            except UnknownValueError:
                continue
            yield from _all_resources(inner)


def _times(gpus: int, owner: Mapping[str, Any], key: str) -> int:
    return gpus and gpus * _number(owner, key)


def _number(owner: Mapping[str, Any], key: str) -> int:
    value = owner.get(key)
    return 1 if value is None else whole_number(value)


def _template(owner: Mapping[str, Any]) -> Mapping[str, Any]:
    return _part(_part(owner, "template"), "spec")


def _part(owner: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return owner.get(key) or _NOTHING
