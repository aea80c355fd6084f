"""JobSet: runs the pods of a training job as a gang."""

from typing import Any

from components.base.model import Model
from components.controllers.base import ControllerKind, Source
from components.controllers.component import image
from components.versions import JOBSET as CHART


class JobSetArgs(Model):
    """Whether the stack installs JobSet."""

    jobset: Source = "chart"
    """`chart` installs the JobSet version that tensorplane pins; `present` uses the JobSet of the cluster."""


def values() -> dict[str, Any]:
    """Values of the chart: one small replica."""
    return {
        "image": image(CHART),
        "controller": {
            "replicas": 1,
            "resources": {"requests": {"cpu": "50m", "memory": "48Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}},
        },
    }


CONTROLLER = ControllerKind(
    "jobset", CHART, JobSetArgs, lambda demand: "jobset" in demand.workloads, lambda *_: values()
)
