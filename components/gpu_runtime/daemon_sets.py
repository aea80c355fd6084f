"""What the DaemonSets of every GPU runtime have in common: they reach each GPU node, and say what they measure."""

from typing import Any, Literal

from components.catalog import GPU_RESOURCE
from components.node_groups.fleet import Fleet

Metrics = Literal["none", "exporter", "serviceMonitor"]

_GPU_TAINT = {"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}


def tolerations(fleet: Fleet) -> list[dict[str, str]]:
    """One toleration per taint of the fleet, and for the taint that GPU nodes usually have."""
    declared = fleet.tolerations
    return declared if _GPU_TAINT in declared else [*declared, _GPU_TAINT]


def feature_discovery_values(fleet: Fleet, *, unlabelled_nodes: bool) -> dict[str, Any]:
    """Values of Node Feature Discovery, which turns what GPU Feature Discovery finds into labels.

    Its worker looks for GPUs on nodes that do not say that they have some.
    """
    return {"worker": {"enable": unlabelled_nodes, "tolerations": tolerations(fleet)}}
