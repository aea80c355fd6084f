"""Roles of a job, which its strategy declares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from tensorplane.components import catalog
from tensorplane.components.base import quantities
from tensorplane.components.base.location import Key
from tensorplane.components.base.model import Resources

TENSORFLOW = "tensorflow"
"""Name of the port of TensorFlow's gRPC server. TF_CONFIG lists the pods that have it as its cluster."""
TENSORFLOW_PORT = 2222


class Program(StrEnum):
    """A program of tensorplane's library, by its module."""

    SERVER = "parameter_server.server"
    """`tf.distribute.Server`, which computes what a coordinator sends."""
    DISPATCHER = "data.dispatcher"
    """The dispatcher of tf.data service."""
    DATA_WORKER = "data.worker"
    """A worker of tf.data service."""


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
    required_for_success: bool = True
    """Whether the job waits for these pods. It ends when all roles that are required have succeeded."""
    command: Sequence[str] | None = None
    """What its container runs, by default the job's command."""
    program: Program | None = None
    """What its container runs instead of a command of the user."""
    topology: str = ""
    """Topology of the TPU slice whose machines its pods are; empty without TPUs."""
    at: Key = ("resources",)
    """Path of its resources in the settings, below the job's."""
    count_at: Key = ("strategy", "workers")
    """Path of its number of pods in the settings, below the job's."""

    @property
    def in_cluster(self) -> bool:
        """Whether TF_CONFIG lists these pods in `cluster`."""
        return TENSORFLOW in self.ports

    @property
    def is_task(self) -> bool:
        """Whether its pods have a `task` in TF_CONFIG: those of the cluster, and an evaluator; no single process."""
        return self.in_cluster or (self.program is None and not self.required_for_success)

    @property
    def accelerator_resource(self) -> str:
        """The extended resource of its accelerators; that of GPUs by default."""
        return catalog.resource_of(self.resources.accelerators)


@dataclass(frozen=True)
class Total:
    """Total requests of several pods, each rounded as Kubernetes does."""

    pods: int
    cpus: float
    memory_gib: float
    gpus: int
    """GPUs alone, not TPU chips."""


def total(roles: Sequence[Role]) -> Total:
    """Total requests of all pods of a job."""
    return Total(
        pods=sum(role.replicas for role in roles),
        cpus=sum(role.replicas * quantities.millicores(role.resources.cpus) for role in roles) / 1000,
        memory_gib=sum(role.replicas * quantities.mebibytes(role.resources.memory_gib) for role in roles) / 1024,
        gpus=sum(
            role.replicas * role.resources.gpus for role in roles if role.accelerator_resource == catalog.GPU_RESOURCE
        ),
    )
