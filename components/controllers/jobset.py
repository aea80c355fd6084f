"""JobSet: runs the pods of a training job as a gang."""

from typing import Any

from tensorplane.components.base.model import Model
from tensorplane.components.controllers.base import ControllerKind, Source, image
from tensorplane.components.versions import JOBSET as CHART


class JobSetArgs(Model):
    """Whether the stack installs JobSet."""

    jobset: Source = "chart"
    """`chart` installs the JobSet version that tensorplane pins; `present` uses the JobSet of the cluster. By default,
    `chart` if the stack has training jobs or teams with members; where only `tensorplane run` or workload stacks create
    jobs, set it."""
    training_dashboard: bool = False
    """Whether to create a Grafana dashboard of the stack's training jobs, as a ConfigMap with the label of Grafana's
    sidecar."""


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
