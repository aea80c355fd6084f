"""VolSync: mirrors volumes from any backend to any other."""

from typing import Any

from tensorplane.components.base.model import Model
from tensorplane.components.controllers.base import ControllerKind, Demand, Source
from tensorplane.components.versions import VOLSYNC as CHART
from tensorplane.components.volumes.mirrors.volsync import takes_part


class VolSyncArgs(Model):
    """Whether the stack installs VolSync."""

    volsync: Source = "chart"
    """`chart` installs the VolSync version that tensorplane pins; `present` uses the VolSync of the cluster."""


def values(*, alerts: bool) -> dict[str, Any]:
    """Values of the chart: one small replica, and movers of the same image.

    The ServiceMonitor that VolSync creates with the Prometheus operator sends no token. So with alerts, everyone in the
    cluster can read the metrics.
    """
    image = {"repository": CHART.image, "tag": CHART.image_tag}
    return {
        "replicaCount": 1,
        "image": {**image, "pullPolicy": "IfNotPresent"},
        "rsync-tls": image,
        "metrics": {"disableAuth": alerts},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
    }


def _needed(demand: Demand) -> bool:
    return any(takes_part(name, demand.volumes) for name in demand.volumes)


def _values(demand: Demand, _settings: VolSyncArgs) -> dict[str, Any]:
    return values(alerts=any(args.mirror is not None and args.mirror.alert for args in demand.volumes.values()))


CONTROLLER = ControllerKind("volsync", CHART, VolSyncArgs, _needed, _values)
