"""Variables of pods for tf.data service."""

from collections.abc import Sequence
from typing import Any

from workloads.pods import pod
from workloads.training_job import tf_config
from workloads.training_job.auxiliary_roles import DATA_SERVICE
from workloads.training_job.role import Program, Role

ADDRESS = "TENSORPLANE_DATA_SERVICE"
"""Variable with the dispatcher's address, for `tf.data.experimental.service.distribute`."""
OWN_ADDRESS = "TENSORPLANE_ADDRESS"
"""Variable with the address at which a pod of the service serves."""
JOB = "TENSORPLANE_JOB"
"""Variable with the identity of the dispatcher's Job, which every restart of the gang replaces."""


def environment(run: str, roles: Sequence[Role], role: Role) -> list[dict[str, Any]]:
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
