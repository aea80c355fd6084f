"""TF_CONFIG for the pods of a JobSet."""

import json
from collections.abc import Sequence
from typing import Any

from workloads.role import TENSORFLOW, Role

_INDEX = "TF_TASK_INDEX"


def hostname(run: str, role: str, index: int) -> str:
    """The hostname that JobSet gives a pod: job 0 of the role, pod `index` of the job."""
    return f"{run}-{role}-0-{index}"


def cluster(run: str, roles: Sequence[Role]) -> dict[str, list[str]]:
    """Address of every pod by role. The run's name is also the subdomain of JobSet's headless service."""
    return {
        role.name: [
            f"{hostname(run, role.name, index)}.{run}:{role.ports[TENSORFLOW]}" for index in range(role.replicas)
        ]
        for role in roles
        if role.in_cluster
    }


def environment(run: str, roles: Sequence[Role], role: Role) -> list[dict[str, Any]]:
    """The variables of one role's pods; empty if the job has no cluster.

    Kubernetes expands `$(TF_TASK_INDEX)` because it is declared first. Its own JOB_COMPLETION_INDEX is declared too
    late, hence the annotation.
    """
    addresses = cluster(run, roles)
    if not addresses:
        return []
    config = json.dumps({"cluster": addresses, "task": {"type": role.name, "index": _INDEX}}, separators=(",", ":"))
    annotation = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    return [
        {"name": _INDEX, "valueFrom": {"fieldRef": {"fieldPath": annotation}}},
        # The index must be a JSON number, so the quotes go.
        {"name": "TF_CONFIG", "value": config.replace(f'"{_INDEX}"', f"$({_INDEX})")},
    ]
