"""Devices of nodes that do not work, as the kubelet reports them of nodes and of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Devices:
    """A node's devices of one resource."""

    there: int
    healthy: int
    """The kubelet hands out no others."""


def of_node(node: Any) -> dict[str, Devices]:
    """By extended resource, such as `nvidia.com/gpu`. One whose device plugin has been away for 5 minutes has none."""
    status = node.get("status", {})
    healthy = status.get("allocatable") or {}
    return {
        resource: Devices(int(there), int(healthy.get(resource, "0")))
        for resource, there in (status.get("capacity") or {}).items()
        if "/" in resource and f"{there}{healthy.get(resource, '0')}".isdigit() and int(there)
    }


def failing(pod: Mapping[str, Any], of_node: Mapping[str, Devices]) -> Iterator[tuple[str, str]]:
    """Resource and ID of each device of a pod that does not work; without reports, if the pod has more than work."""
    if any("allocatedResourcesStatus" in container for container in _statuses(pod)):
        yield from unhealthy(pod)
        return
    for resource, there in of_node.items():
        limits = [(each.get("resources") or {}).get("limits") or {} for each in pod["spec"].get("containers") or ()]
        if sum(int(each.get(resource, "0")) for each in limits) > there.healthy:
            yield resource, "device"


def unhealthy(pod: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Resource and ID of each device of a pod that does not work.

    Kubernetes reports them since 1.31, by default since 1.36 (`ResourceHealthStatus`, KEP-4680).
    """
    for container in _statuses(pod):
        for resource in container.get("allocatedResourcesStatus") or ():
            for device in resource.get("resources") or ():
                if device.get("health") == "Unhealthy":
                    yield resource["name"], device["resourceID"]


def _statuses(pod: Mapping[str, Any]) -> Iterator[Any]:
    status = pod.get("status", {})
    yield from status.get("initContainerStatuses") or ()
    yield from status.get("containerStatuses") or ()
