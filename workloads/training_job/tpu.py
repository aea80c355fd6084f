"""What pods of a TPU slice need on GKE: the labels of its nodes, and each other's names."""

from typing import Any

from tensorplane.components import catalog
from tensorplane.workloads.pods import pod
from tensorplane.workloads.training_job import tf_config
from tensorplane.workloads.training_job.role import Role

_ACCELERATOR = "cloud.google.com/gke-tpu-accelerator"
_TOPOLOGY = "cloud.google.com/gke-tpu-topology"
_NODE_POOL = "cloud.google.com/gke-nodepool"
_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"


def selector(role: Role) -> dict[str, str]:
    """Labels that GKE gives to the nodes of such a slice; empty for other roles."""
    if not role.topology:
        return {}
    (accelerator,) = role.resources.accelerators
    return {_ACCELERATOR: catalog.ACCELERATORS[accelerator].product, _TOPOLOGY: role.topology}


def annotations(role: Role) -> dict[str, str]:
    """Annotations of the Job: JobSet then places all pods of several machines into one node pool, which is a slice."""
    return {_EXCLUSIVE: _NODE_POOL} if role.topology and role.replicas > 1 else {}


def environment(run: str, role: Role) -> list[dict[str, Any]]:
    """Variables with which the TPU library of each machine finds the others. The index is declared with TF_CONFIG."""
    if not role.topology or role.replicas == 1:
        return []
    names = ",".join(f"{tf_config.hostname(run, role.name, index)}.{run}" for index in range(role.replicas))
    return [*pod.variables({"TPU_WORKER_ID": f"$({tf_config.INDEX})", "TPU_WORKER_HOSTNAMES": names})]
