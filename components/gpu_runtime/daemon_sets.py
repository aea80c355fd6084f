"""Common values of GPU runtimes' DaemonSets: tolerations and Node Feature Discovery."""

from typing import Any, Literal

from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.node_groups.fleet import Fleet

Metrics = Literal["none", "exporter", "serviceMonitor"]

_GPU_TAINT = {"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}


def tolerations(fleet: Fleet) -> list[dict[str, str]]:
    """One toleration per taint of the fleet, and for the usual taint of GPU nodes."""
    declared = fleet.tolerations
    return declared if _GPU_TAINT in declared else [*declared, _GPU_TAINT]


def feature_discovery_values(fleet: Fleet, *, unlabelled_nodes: bool) -> dict[str, Any]:
    """Values of Node Feature Discovery, which creates labels from GPU Feature Discovery.

    Its worker looks for GPUs on nodes without the label.
    """
    return {"worker": {"enable": unlabelled_nodes, "tolerations": tolerations(fleet)}}
