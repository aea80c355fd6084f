"""What runs on the platform: training jobs and model servers, each declared by its `kind`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pulumi

from components import faults
from components.cluster import Cluster, ClusterArgs
from components.family import Variant, load_family
from components.faults import Fault, Key
from components.fleet import Fleet
from components.model import Resources
from components.namespace import Namespace
from components.queue import Queue, QueueArgs
from components.queue.room import PodSet, Room
from components.stream import Stream
from components.volume import Volume, VolumeArgs


@dataclass(frozen=True)
class Declared:
    """What the settings declare for workloads to refer to, by name; None where the declaration itself is faulty."""

    cluster: ClusterArgs
    fleet: Fleet
    """The node groups; without those that are faulty."""
    volumes: Mapping[str, VolumeArgs | None]
    queues: Mapping[str, QueueArgs | None]
    rooms: Mapping[str, Room]
    """What the queues have, those whose settings and machines are right."""


@dataclass(frozen=True)
class Platform:
    """What exists for workloads to run on."""

    cluster: Cluster
    namespace: Namespace
    volumes: Mapping[str, Volume]
    streams: Mapping[str, Stream]
    """By the names of their volumes."""
    queues: Mapping[str, Queue]
    rooms: Mapping[str, Room]
    """What the queues have, by their names."""
    controllers: Sequence[pulumi.Resource]
    """What must be ready before a job can be created."""
    secret: frozenset[Key] = frozenset()
    """Where the settings hold values that are stored encrypted."""

    def secret_env(self, workload: str, env: Mapping[str, Any]) -> set[str]:
        """The variables of a workload that are to be kept secret: those that are stored encrypted, and Outputs."""
        return {
            name
            for name, value in env.items()
            if isinstance(value, pulumi.Output) or faults.below(("workloads", workload, "env", name), self.secret)
        }

    def guarded(self, workload: str, value: Any) -> pulumi.Output[Any]:
        """The value, secret where settings of the workload are: what follows from it stays encrypted in the state.

        Not for its variables, of which nothing follows: they are in a Secret.
        """
        at, env = ("workloads", workload), ("workloads", workload, "env")
        secret = any(faults.below(at, [path]) or (path[:2] == at and path[:3] != env) for path in self.secret)
        return pulumi.Output.secret(value) if secret else pulumi.Output.from_input(value)


class WorkloadArgs(Variant, family=True):
    """Settings of one workload."""

    kind: str
    resources: Resources = Resources()
    """What each pod may use."""

    @property
    def interruptible(self) -> bool:
        """Whether it loses little when a machine is taken back, so that its pods may run on spot machines."""
        return False

    @property
    def gpus_beside_queues(self) -> int:
        """The most GPUs that its pods hold at once without being admitted by a queue, also while they are replaced."""
        return 0

    stays: ClassVar[bool] = False
    """Whether its pods run for as long as the settings have it."""

    def pod_sets(self) -> list[PodSet]:
        """Its pods, those that are equal together."""
        raise NotImplementedError

    def mounts(self) -> Mapping[str, Key]:
        """The volumes that its pods mount, each with the key of the setting that says so, below the workload's."""
        return {}

    def check(self, name: str, declared: Declared) -> Iterator[Fault]:
        """What is wrong with these settings beyond their shape: references, files, names, sizes."""
        raise NotImplementedError

    def build(self, name: str, platform: Platform, opts: pulumi.ResourceOptions) -> "Workload":
        """Create the workload."""
        raise NotImplementedError


class Workload(pulumi.ComponentResource):
    """A workload, and what the stack says about it when it is deployed."""

    outputs: Mapping[str, Any]
    """Names, URLs and GPUs, exported under the workload's name."""
    gpus: int
    """GPUs that its pods ask for together."""


load_family(__name__, __path__)
