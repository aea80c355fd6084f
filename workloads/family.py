"""The family of workloads: what each kind declares, and what it may refer to."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import pulumi

from tensorplane.components import catalog, versions
from tensorplane.components.base import problems
from tensorplane.components.base.family import Variant
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.controllers.prometheus import PrometheusArgs
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.namespace import Namespace
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues import Queue, QueueArgs
from tensorplane.components.queues.capacity import PodSet, QueueCapacity
from tensorplane.components.queues.settings import TeamArgs
from tensorplane.components.streams.component import Stream
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.components.volumes.component import Volume
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.workloads.platform_settings import PlatformSettings
from tensorplane.workloads.pods.mounts import Location
from tensorplane.workloads.training_job.run import Recorded
from tensorplane.workloads.training_job.settings import JobSettings

Created = TypeVar("Created", bound=pulumi.Resource)


@dataclass(frozen=True)
class Declared:
    """Declarations that workloads may refer to, by name; None if a declaration failed validation."""

    cluster: ClusterArgs
    fleet: Fleet
    """The node groups, without those that failed validation."""
    volumes: Mapping[str, VolumeArgs | None]
    streams: Mapping[str, StreamArgs | None]
    datasets: Mapping[str, DatasetArgs | None]
    queues: Mapping[str, QueueArgs | None]
    capacities: Mapping[str, QueueCapacity]
    """Quotas of the queues, without those that failed validation."""
    models: Mapping[str, Location | None]
    """The folders of the model servers, by server; None where a declaration failed validation."""
    teams: Mapping[str, TeamArgs | None]
    prometheus: PrometheusArgs
    workloads: frozenset[str]
    """Names of all workloads."""
    project: Path | None = None
    """The folder that the paths of `script` and `files` are relative to; None: this project."""

    @property
    def records(self) -> dict[str, str]:
        """Volumes with the records of a stream, which only its broker mounts; the stream by volume."""
        return {
            args.volume: name
            for name, args in self.streams.items()
            if args and args.volume and args.is_on_the_volume(self.cluster)
        }


@dataclass(frozen=True)
class Space:
    """A namespace other than the stack's own, for workloads of the stack in it."""

    plain_name: str
    name: pulumi.Input[str]
    volumes: Mapping[str, pulumi.Resource] = field(default_factory=dict)
    """The claims of its volumes that this stack creates, by volume."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the stack's objects in it."""


class Library(Protocol):
    """tensorplane's library in a namespace (`workloads/pods/library.py`)."""

    @property
    def current(self) -> pulumi.Resource:
        """This version of it, which new gangs mount."""

    def keep(self, name: str) -> None:
        """Keeps that of an earlier version, by Pulumi's name."""


@dataclass(frozen=True)
class Platform:
    """The platform that workloads run on."""

    cluster: Cluster
    namespace: Namespace | Space
    volumes: Mapping[str, Volume]
    streams: Mapping[str, Stream]
    queues: Mapping[str, Queue]
    teams: Mapping[str, Space]
    settings: PlatformSettings
    """Its settings."""
    controllers: Sequence[pulumi.Resource]
    """Resources that must be ready before a job can be created."""
    runs: pulumi.Output[Mapping[str, Recorded]]
    """Runs of the last deployment, by job."""
    secret: frozenset[Key] = frozenset()
    """Paths of encrypted settings."""
    library: Library | None = None
    """tensorplane's library, which training jobs in the namespace share. None where the namespace has objects of
    several stacks: there, each job has its own."""

    def secret_env(self, at: Key, env: Mapping[str, Any]) -> set[str]:
        """Names of the variables that must stay secret: encrypted ones and Outputs. `at`: the path of the settings with
        `env`."""
        return {
            name
            for name, value in env.items()
            if isinstance(value, pulumi.Output) or problems.below((*at, "env", name), self.secret)
        }

    def guarded(self, at: Key, value: Any) -> pulumi.Output[Any]:
        """The value, marked as secret if settings at this path are, so that values derived from it stay encrypted.

        Variables are not considered: they are in a Secret, and nothing is derived from them.
        """
        env = (*at, "env")
        length = len(at)
        secret = any(
            problems.below(at, [path]) or (path[:length] == at and path[: length + 1] != env) for path in self.secret
        )
        return pulumi.Output.secret(value) if secret else pulumi.Output.from_input(value)


def created(resources: Mapping[str, Created], names: Iterable[str]) -> list[Created]:
    """Those of these names that this stack creates, in order; another stack's exist already."""
    return [resources[name] for name in sorted(names) if name in resources]


class WorkloadArgs(Variant, family=True):
    """Settings of one workload."""

    kind: str

    stays: ClassVar[bool] = False
    """Whether its pods run until it is removed from the settings."""
    has_runs: ClassVar[bool] = False
    """Whether it runs to completion, so that a deployment must know the run of the previous one."""
    accepts_clients: ClassVar[bool] = False
    """Whether it has a NetworkPolicy for its clients."""

    @property
    def controllers(self) -> frozenset[str]:
        """Names of the controllers whose objects it creates."""
        return frozenset()

    @property
    def named_image(self) -> Any:
        """The image in its settings; None if there is none."""
        return None

    def default_image(self, images: versions.Images) -> str | None:
        """The default image; None if the workload must name its own."""
        return None

    @property
    def shares_library(self) -> bool:
        """Whether its pods mount the library of the stack's namespace, if that has one."""
        return False

    @property
    def models_written(self) -> Location | None:
        """Folder to which it writes models."""
        return None

    @property
    def publishes_to(self) -> Mapping[str, Key]:
        """The model servers to whose folders it also writes models, with the key that names each."""
        return {}

    @property
    def trained(self) -> JobSettings | None:
        """The settings of the job that trains its models, of a sweep those of each trial. None: it trains nothing."""
        return None

    @property
    def models_served(self) -> Sequence[str]:
        """Names of the models that it serves."""
        return ()

    @property
    def models_read(self) -> Mapping[Key, Location]:
        """Folders from which it serves models, by the key of each relative to the workload."""
        return {}

    @property
    def accelerators_without_queue(self) -> Counter[str]:
        """The most accelerators that its pods use without a queue, by their resource."""
        found = Counter[str]()
        for pods in self.unqueued():
            if pods.resources.gpus:
                found[catalog.resource_of(pods.resources.accelerators)] += pods.count * pods.resources.gpus
        return found

    def unqueued(self) -> list[PodSet]:
        """Its pods that no queue admits, including surge pods of a rolling update."""
        return []

    def pod_sets(self) -> list[PodSet]:
        """Its pods, grouped by equal ones."""
        raise NotImplementedError

    def pods_by_queue(self) -> Iterator[tuple[str | None, list[PodSet]]]:
        """Its pods with the queue that they wait in; None without one."""
        yield next(iter(self.queues()), None), self.pod_sets()

    def mounts(self) -> Mapping[str, Key]:
        """The volumes that its settings mount, with the key of each mount relative to the workload."""
        return {}

    def datasets_used(self) -> Mapping[str, Key]:
        """The datasets that its pods read or write, with the key that names each relative to the workload."""
        return {}

    def mounted(self, datasets: Mapping[str, DatasetArgs | None]) -> dict[str, Key]:
        """The volumes that its pods mount, those of datasets included, with the key that needs each."""
        used = {args.volume: at for name, at in self.datasets_used().items() if (args := datasets.get(name))}
        return {**used, **self.mounts()}

    def together_on(self, volume: str, datasets: Mapping[str, DatasetArgs | None]) -> list[tuple[Key, list[PodSet]]]:
        """Groups of pods that mount a volume at the same time, with the key that needs it."""
        found = self.mounted(datasets)
        return [(found[volume], self.pod_sets())] if volume in found else []

    def queues(self) -> Mapping[str, Key]:
        """The queue that its pods wait in, with the key that names it relative to the workload."""
        return {}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        """Problems beyond the shape of the settings: references, files, names, sizes. `at`: their path."""
        raise NotImplementedError

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "Workload":
        """Creates the workload. `at`: the path of its settings."""
        raise NotImplementedError


class Workload(pulumi.ComponentResource):
    """A deployed workload and its outputs."""

    outputs: Mapping[str, Any]
    """Names, URLs and GPUs, exported under the workload's name."""
    gpus: int
    """GPUs that all of its pods request."""
