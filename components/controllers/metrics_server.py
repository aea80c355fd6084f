"""metrics-server: measures the CPU that pods use, for autoscalers."""

from typing import Any

from tensorplane.components.base.model import Model
from tensorplane.components.controllers.base import ControllerKind, Source, image
from tensorplane.components.versions import METRICS_SERVER as CHART


class MetricsServerArgs(Model):
    """Whether the stack installs metrics-server."""

    metrics_server: Source = "chart"
    """`chart` installs the metrics-server version that tensorplane pins if a model server scales on `cpu`, except on
    GKE and AKS, which come with one; `present` uses that of the cluster."""


def values() -> dict[str, Any]:
    """Values of the chart: one small replica."""
    return {
        "image": image(CHART),
        "replicas": 1,
        "resources": {"requests": {"cpu": "100m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
    }


CONTROLLER = ControllerKind(
    "metrics_server", CHART, MetricsServerArgs, lambda demand: "metrics_server" in demand.workloads, lambda *_: values()
)
