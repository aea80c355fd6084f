"""Accelerators that do not work, as the kubelet reports them of nodes and of pods, and which of these faults count:
those that last, and that few nodes have at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Devices:
    """A node's devices of one resource."""

    total: int
    healthy: int
    """The kubelet hands out no others."""


def list_devices(node: Any) -> dict[str, Devices]:
    """By extended resource, such as `nvidia.com/gpu`. One whose device plugin has been away for 5 minutes has none."""
    status = node.get("status", {})
    healthy = status.get("allocatable") or {}
    return {
        resource: Devices(int(there), int(healthy.get(resource, "0")))
        for resource, there in (status.get("capacity") or {}).items()
        if "/" in resource and f"{there}{healthy.get(resource, '0')}".isdigit() and int(there)
    }


def failing_devices(pod: Mapping[str, Any], of_node: Mapping[str, Devices]) -> Iterator[tuple[str, str]]:
    """Resource and ID of each device of a pod that does not work; without reports, if the pod has more than work."""
    if any("allocatedResourcesStatus" in container for container in _statuses(pod)):
        yield from unhealthy_devices(pod)
        return
    for resource, devices in of_node.items():
        limits = [(each.get("resources") or {}).get("limits") or {} for each in pod["spec"].get("containers") or ()]
        if sum(int(each.get(resource, "0")) for each in limits) > devices.healthy:
            yield resource, "device"


def unhealthy_devices(pod: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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


Fault = tuple[str, str]
"""The name of a node, and what is at fault there."""
FAULT_SECONDS = 30.0
"""Seconds that a fault must last."""
ALL_FAULTY_SECONDS = 360.0
"""Seconds if no device of the node works: so the node is while a device plugin restarts. The kubelet waits for one that
does not come back for five minutes (`endpointStopGracePeriod`), and then has no devices to report."""
_SIMULTANEOUS_SECONDS = 300.0
"""Faults that begin within this time do so together."""
_MOST_UNOBSERVED_SECONDS = 25.0
"""Seconds between two reconciles; a longer time, while the API server was away, counts for no fault."""


@dataclass
class Faults:
    """The faults that this process has observed, by its own clock."""

    _since: dict[Fault, float] = field(default_factory=dict)
    _observed_at: float | None = None
    _spared: set[str] = field(default_factory=set)

    def to_act_on(self, faults: Mapping[Fault, float], equipped: int, now: float) -> set[Fault]:
        """The faults to act on. `faults`: all present ones, with the seconds that each must last.

        If several nodes become faulty together, and they are more than a third of the `equipped` ones, their detector
        is taken for the cause: they are spared until it finds no fault on them.
        """
        unseen = now - self._observed_at if self._observed_at is not None else 0
        late = unseen if unseen > _MOST_UNOBSERVED_SECONDS else 0
        self._observed_at = now
        self._since = {fault: self._since[fault] + late if fault in self._since else now for fault in faults}
        first: dict[str, float] = {}
        for (node, _), at in self._since.items():
            first[node] = min(at, first.get(node, at))
        self._spared &= first.keys()
        for at in first.values():
            together = {node for node, other in first.items() if abs(other - at) < _SIMULTANEOUS_SECONDS}
            if len(together) > 1 and 3 * len(together) > equipped:
                self._spared |= together
        lasting = {fault for fault, seconds in faults.items() if now - self._since[fault] >= seconds}
        return {fault for fault in lasting if fault[0] not in self._spared}

    @property
    def spared(self) -> frozenset[str]:
        """The nodes that became faulty together."""
        return frozenset(self._spared)
