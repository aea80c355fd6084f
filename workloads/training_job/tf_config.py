"""TF_CONFIG and the variables of tf.data service, for the pods of a JobSet."""

import json
from collections.abc import Sequence
from typing import Any

from tensorplane.workloads.pods import pod
from tensorplane.workloads.training_job import tf_config
from tensorplane.workloads.training_job.auxiliary_roles import DATA_SERVICE
from tensorplane.workloads.training_job.role import TENSORFLOW, Program, Role

INDEX = "TF_TASK_INDEX"


def hosts(role: str) -> str:
    """The variable with the addresses of a role's pods, separated by commas."""
    return f"TF_{role.upper()}_HOSTS"


VARIABLES = ("TF_CONFIG", "TF_JOB_NAME", INDEX, *map(hosts, ("chief", "worker", "ps")))
"""Variables of pods with a task; of the hosts, those of roles in the cluster."""
_RESTARTS = "TENSORPLANE_RESTARTS"
"""Variable with how often the gang was restarted, from which the launcher has the ports (`gang_ports.py`)."""


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
    """The variables of one role's pods; empty for a role without a task.

    Kubernetes expands `$(TF_TASK_INDEX)` because it is declared first. Its own JOB_COMPLETIONINDEX is declared too
    late, hence the annotation.
    """
    if not role.is_task:
        return []
    addresses = cluster(run, roles)
    config = json.dumps({"cluster": addresses, "task": {"type": role.name, "index": INDEX}}, separators=(",", ":"))
    return [
        index(),
        # The index must be a JSON number, so the quotes go.
        {"name": "TF_CONFIG", "value": config.replace(f'"{INDEX}"', f"$({INDEX})")},
        # For scripts that take their cluster as parameters: `--worker_hosts=$(TF_WORKER_HOSTS)`.
        {"name": "TF_JOB_NAME", "value": role.name},
        *({"name": hosts(name), "value": ",".join(found)} for name, found in addresses.items()),
    ]


def restarts(roles: Sequence[Role]) -> list[dict[str, Any]]:
    """The variable with the number of restarts before this start; empty if the job's pods have no addresses."""
    if not any(role.ports for role in roles):
        return []
    label = "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"
    return [{"name": _RESTARTS, "valueFrom": {"fieldRef": {"fieldPath": label}}}]


def index() -> dict[str, Any]:
    """The variable with the pod's index. Kubernetes' own JOB_COMPLETION_INDEX is declared too late for references."""
    annotation = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    return {"name": INDEX, "valueFrom": {"fieldRef": {"fieldPath": annotation}}}


ADDRESS = "TENSORPLANE_DATA_SERVICE"
"""Variable with the dispatcher's address, for `tf.data.experimental.service.distribute`."""
OWN_ADDRESS = "TENSORPLANE_ADDRESS"
"""Variable with the address at which a pod of the service serves."""
JOB = "TENSORPLANE_JOB"
"""Variable with the identity of the dispatcher's Job, which every restart of the gang replaces."""


def data_service_environment(run: str, roles: Sequence[Role], role: Role) -> list[dict[str, Any]]:
    """The variables of one role's pods; empty if the job has no tf.data service."""
    dispatcher = next((each for each in roles if each.program is Program.DISPATCHER), None)
    if dispatcher is None:
        return []
    address = f"{tf_config.hostname(run, dispatcher.name, 0)}.{run}:{dispatcher.ports[DATA_SERVICE]}"
    if role.program is Program.DISPATCHER:
        label = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/controller-uid']"}}
        return [*pod.variables({OWN_ADDRESS: address}), {"name": JOB, "valueFrom": label}]
    found: list[dict[str, Any]] = pod.variables({ADDRESS: f"grpc://{address}"})
    if role.program is not Program.DATA_WORKER:
        return found
    own = f"{run}-{role.name}-0-$({tf_config.INDEX}).{run}:{role.ports[DATA_SERVICE]}"
    return [*found, tf_config.index(), *pod.variables({OWN_ADDRESS: own})]
