"""Roles of a job, which its strategy declares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from components import catalog
from components.base import quantities
from components.base.model import Resources

TENSORFLOW = "tensorflow"
"""Name of the port of TensorFlow's gRPC server. TF_CONFIG lists the pods that have it as its cluster."""
TENSORFLOW_PORT = 2222


@dataclass(frozen=True)
class Role:
    """Equal pods of a job: a task type of TF_CONFIG."""

    name: str
    replicas: int
    resources: Resources
    """What each pod may use. Its accelerator and node group also decide where the pod runs."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """Ports of the container by name."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of this role, in addition to TF_CONFIG and the job's."""
    together: bool = False
    """Whether its pods compute every step together: they require unshared GPUs and the network between nodes."""
    restart: Literal["gang", "pod"] = "gang"
    """What a failed pod restarts: `gang` the whole job, `pod` only itself."""
    decides: bool = True
    """Whether the job waits for these pods. It ends when all deciding roles have succeeded."""

    @property
    def in_cluster(self) -> bool:
        """Whether TF_CONFIG lists these pods in `cluster`; an evaluator has only a `task`, a single process neither."""
        return TENSORFLOW in self.ports

    @property
    def accelerator_resource(self) -> str:
        """The extended resource of its accelerators; that of GPUs by default."""
        accelerator = catalog.ACCELERATORS.get(self.resources.accelerator or "")
        return accelerator.resource if accelerator else catalog.GPU_RESOURCE


@dataclass(frozen=True)
class Total:
    """Total requests of several pods, each rounded as Kubernetes does."""

    pods: int
    cpus: float
    memory_gib: float
    gpus: int


def total(roles: Sequence[Role]) -> Total:
    """Total requests of all pods of a job."""
    return Total(
        pods=sum(role.replicas for role in roles),
        cpus=sum(role.replicas * quantities.millicores(role.resources.cpus) for role in roles) / 1000,
        memory_gib=sum(role.replicas * quantities.mebibytes(role.resources.memory_gib) for role in roles) / 1024,
        gpus=sum(role.replicas * role.resources.gpus for role in roles),
    )
