"""KEDA: scales workloads by metrics of Prometheus, down to zero."""

from typing import Any

from tensorplane.components.base.model import Model
from tensorplane.components.controllers.base import ControllerKind, Source
from tensorplane.components.versions import KEDA as CHART


class KedaArgs(Model):
    """Whether the stack installs KEDA."""

    keda: Source = "chart"
    """`chart` installs the KEDA version that tensorplane pins if a model server scales by requests, latency or queue,
    or a scorer by lag; `present` uses that of the cluster. A cluster can have one."""


def values() -> dict[str, Any]:
    """Values of the chart: one small replica each of the operator, its metrics API and its webhooks."""
    small = {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
    return {
        "image": {"pullPolicy": "IfNotPresent"},
        "operator": {"replicaCount": 1},
        "metricsServer": {"replicaCount": 1},
        "resources": {"operator": small, "metricServer": small, "webhooks": small},
    }


CONTROLLER = ControllerKind("keda", CHART, KedaArgs, lambda demand: "keda" in demand.workloads, lambda *_: values())
