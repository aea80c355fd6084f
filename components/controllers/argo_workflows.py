"""Argo Workflows: runs the stages of pipelines.

A stack gets it for a workload whose `controllers` contain `argo_workflows`. Its Kueue then admits pods with the
labels of `queues.job_labels`. Pods of Workflows run under a service account with the rights of `EXECUTOR_RULES`, and
connect to the API server. Each container names its command: otherwise the controller asks a registry for it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components.base import pod_security
from tensorplane.components.base.model import Model
from tensorplane.components.controllers.base import ControllerKind, Source
from tensorplane.components.versions import ARGO_WORKFLOWS as CHART

_DAY = 24 * 60 * 60
_KEPT_SECONDS = {"secondsAfterSuccess": 7 * _DAY, "secondsAfterFailure": 30 * _DAY}
_REQUEUE = {"name": "DEFAULT_REQUEUE_TIME", "value": "100ms"}
"""How long after a change the controller looks at a Workflow. By default ten seconds, for which each stage waits
several times."""
# An image of a stage may write to its own files, and the executor writes to its container's.
_CONTAINER = {key: value for key, value in pod_security.container().items() if key != "readOnlyRootFilesystem"}

EXECUTOR_RULES: Sequence[Mapping[str, Any]] = (
    {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]},
)
"""What the executor in each pod of a Workflow does in its namespace: it reports outputs. A pod of a `resource` template
also requires the verbs for that resource."""


class ArgoWorkflowsArgs(Model):
    """Whether the stack installs Argo Workflows."""

    argo_workflows: Source = "chart"
    """`chart` installs the Argo Workflows version that tensorplane pins if the stack has pipelines; `present` uses that
    of the cluster. A cluster can have one. The stack's Kueue then also admits pods without a job, if they name a queue.
    """


def values() -> dict[str, Any]:
    """Values of the chart: one small controller of all namespaces, without a server or an artifact repository.

    Pods of Workflows satisfy Pod Security level `restricted` unless a Workflow says otherwise. Finished Workflows are
    deleted with their pods after a week, failed ones after a month.
    """
    return {
        "images": {"pullPolicy": "IfNotPresent"},
        "server": {"enabled": False},
        # Service accounts of Workflows are in the stack's namespaces.
        "workflow": {"rbac": {"create": False}},
        "controller": {
            "clusterWorkflowTemplates": {"enabled": False},
            "extraEnv": [_REQUEUE],
            "podSecurityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}},
            "workflowDefaults": {"spec": {"securityContext": pod_security.pod(), "ttlStrategy": _KEPT_SECONDS}},
        },
        "executor": {
            "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
            "securityContext": _CONTAINER,
        },
        "mainContainer": {"securityContext": _CONTAINER},
    }


CONTROLLER = ControllerKind(
    "argo_workflows",
    CHART,
    ArgoWorkflowsArgs,
    lambda demand: "argo_workflows" in demand.workloads,
    lambda *_: values(),
)
