"""The family of workloads: what each kind says of itself, and what it may refer to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pulumi

from components import versions
from components.base import faults
from components.base.family import Variant
from components.base.faults import Fault, Key
from components.clusters.component import Cluster
from components.clusters.settings import ClusterArgs
from components.namespace import Namespace
from components.node_groups.fleet import Fleet
from components.queues import Queue, QueueArgs
from components.queues.room import PodSet, Room
from components.streams.component import Stream
from components.streams.settings import StreamArgs
from components.volumes.component import Volume
from components.volumes.settings import VolumeArgs
from workloads.manifests.run import Recorded
from workloads.platform_settings import PlatformSettings
from workloads.settings.mounts import Location


@dataclass(frozen=True)
class Declared:
    """What the settings declare for workloads to refer to, by name; None where the declaration itself is faulty."""

    cluster: ClusterArgs
    fleet: Fleet
    """The node groups; without those that are faulty."""
    volumes: Mapping[str, VolumeArgs | None]
    streams: Mapping[str, StreamArgs | None]
    queues: Mapping[str, QueueArgs | None]
    rooms: Mapping[str, Room]
    """What the queues have, those whose settings and machines are right."""

    @property
    def records(self) -> dict[str, str]:
        """The volumes that hold the records of a stream, which only its broker mounts, and of which one."""
        return {
            args.volume: name
            for name, args in self.streams.items()
            if args and args.volume and args.is_on_the_volume(self.cluster)
        }


@dataclass(frozen=True)
class Platform:
    """What exists for workloads to run on."""

    cluster: Cluster
    namespace: Namespace
    volumes: Mapping[str, Volume]
    streams: Mapping[str, Stream]
    queues: Mapping[str, Queue]
    settings: PlatformSettings
    """What the settings say of all of it."""
    controllers: Sequence[pulumi.Resource]
    """What must be ready before a job can be created."""
    runs: pulumi.Output[Mapping[str, Recorded]]
    """The runs of the stack's jobs as they were deployed last, by the jobs' names."""
    secret: frozenset[Key] = frozenset()
    """Where the settings hold values that are stored encrypted."""

    def secret_env(self, at: Key, env: Mapping[str, Any]) -> set[str]:
        """The variables that are to be kept secret: those that are stored encrypted, and Outputs. `at`: of the settings
        that `env` is in."""
        return {
            name
            for name, value in env.items()
            if isinstance(value, pulumi.Output) or faults.below((*at, "env", name), self.secret)
        }

    def guarded(self, at: Key, value: Any) -> pulumi.Output[Any]:
        """The value, secret where settings at this path are: what follows from it stays encrypted in the state.

        Not for its variables, of which nothing follows: they are in a Secret.
        """
        env = (*at, "env")
        length = len(at)
        secret = any(
            faults.below(at, [path]) or (path[:length] == at and path[: length + 1] != env) for path in self.secret
        )
        return pulumi.Output.secret(value) if secret else pulumi.Output.from_input(value)


class WorkloadArgs(Variant, family=True):
    """Settings of one workload."""

    kind: str

    stays: ClassVar[bool] = False
    """Whether its pods run for as long as the settings have it."""
    has_runs: ClassVar[bool] = False
    """Whether it runs to an end, so that a deployment must know the run of the one before."""
    controllers: ClassVar[frozenset[str]] = frozenset()
    """Names of the controllers whose objects it creates, as `components/controllers` has them."""
    accepts_clients: ClassVar[bool] = False
    """Whether it has a network policy for clients of its own."""

    @property
    def named_image(self) -> Any:
        """The image that its settings name; None where they name none."""
        return None

    def default_image(self, images: versions.Images) -> str | None:
        """The image that it runs where its settings name none; None where such a workload must name its own."""
        return None

    @property
    def models_written(self) -> Location | None:
        """Where it writes the models that it trains."""
        return None

    @property
    def models_read(self) -> Location | None:
        """Where it reads the models that it serves."""
        return None

    @property
    def gpus_without_queue(self) -> int:
        """The most GPUs that its pods hold at once without being admitted by a queue, also while they are replaced."""
        return 0

    def pod_sets(self) -> list[PodSet]:
        """Its pods, those that are equal together."""
        raise NotImplementedError

    def mounts(self) -> Mapping[str, Key]:
        """The volumes that its pods mount, each with the key of the setting that says so, below the workload's."""
        return {}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Fault]:
        """What is wrong with these settings beyond their shape: references, files, names, sizes. `at`: their path."""
        raise NotImplementedError

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "Workload":
        """Create the workload. `at`: the path of its settings."""
        raise NotImplementedError


class Workload(pulumi.ComponentResource):
    """A workload, and what the stack says about it when it is deployed."""

    outputs: Mapping[str, Any]
    """Names, URLs and GPUs, exported under the workload's name."""
    gpus: int
    """GPUs that its pods ask for together."""
