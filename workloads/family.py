"""The family of workloads: what each kind declares, and what it may refer to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tensorplane.components import catalog, versions
from tensorplane.components.base.family import Variant
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.controllers.prometheus import PrometheusArgs
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues.capacity import PodSet, QueueCapacity
from tensorplane.components.queues.settings import QueueArgs, TeamArgs
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.workloads.pods.mounts import Location
from tensorplane.workloads.training_job.settings import JobSettings

if TYPE_CHECKING:
    from tensorplane.workloads.component import Platform, Workload


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

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> Workload:
        """Creates the workload: for `XArgs`, the component `X` of the `component.py` beside it.

        `at`: the path of its settings.
        """
        beside = import_module(f"{type(self).__module__.rpartition('.')[0]}.component")
        component: Callable[..., Workload] = getattr(beside, type(self).__name__.removesuffix("Args"))
        return component(name, self, at=at, platform=platform, opts=opts)
