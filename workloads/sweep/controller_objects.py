"""The controller of a sweep without Pulumi: how its objects are named and labelled, what it reads, what it may do."""

from collections.abc import Mapping
from typing import Any

from tensorplane.agents.sweep.spec import trial_run as trial_run
from tensorplane.components.agent.code import Resources

CONTROLLER = "sweep"
"""The label `component` of the controller's objects and pods."""
RESULTS = "sweep-results"
"""The label `component` of the ConfigMap with the results."""
NAME_SUFFIX = "-controller"
"""What the names of the controller's objects end with, after the sweep's name or its run."""
RESULTS_SUFFIX = "-results"
"""What the name of the ConfigMap with the results ends with, after the sweep's run."""
ACCOUNT = "tensorplane-sweep"
"""The service account of the controllers of sweeps that a team's members submit, in the team's namespace."""
DESCRIPTION = "/etc/tensorplane/sweep"
"""Folder of the file that says what to do."""
FILE = "sweep.json"
RESOURCES = Resources(cpu="20m", memory="96Mi", memory_limit="512Mi")
_OF_JOBS, _JOB_SETS = ["jobset.x-k8s.io"], ["jobsets"]


def rules(results: Any, trials: Any) -> list[dict[str, Any]]:
    """Its own results and trials: lists of their names, or Outputs of such; RBAC cannot limit a list to names."""
    return [
        {"api_groups": _OF_JOBS, "resources": _JOB_SETS, "verbs": ["list", "watch"]},
        # Server-side apply names what it creates, unlike POST, so that RBAC can limit that too.
        {
            "api_groups": _OF_JOBS,
            "resources": _JOB_SETS,
            "resource_names": trials,
            "verbs": ["create", "patch", "delete"],
        },
        {"api_groups": [""], "resources": ["configmaps"], "resource_names": results, "verbs": ["get", "patch"]},
    ]


IN_NAMESPACE: tuple[Mapping[str, Any], ...] = (
    {"api_groups": _OF_JOBS, "resources": _JOB_SETS, "verbs": ["list", "watch", "create", "patch", "delete"]},
    {"api_groups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"]},
)
"""The same for the trials and results of all sweeps of a namespace."""
