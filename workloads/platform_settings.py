"""The stack's settings that workloads refer to."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.controllers.prometheus import PrometheusArgs
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues.capacity import QueueCapacity
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.workloads.pods.mounts import Location


@dataclass(frozen=True)
class PlatformSettings:
    """Settings that passed validation, as plain data that is known without a cluster."""

    cluster: ClusterArgs
    fleet: Fleet
    """The node groups."""
    namespace: str
    volumes: Mapping[str, VolumeArgs]
    streams: Mapping[str, StreamArgs]
    datasets: Mapping[str, DatasetArgs]
    capacities: Mapping[str, QueueCapacity]
    """What each queue can admit, by queue."""
    models: Mapping[str, Location]
    """The folders of the model servers, by server."""
    model_names: Mapping[str, str]
    """Names of the models for clients, by the same keys."""
    tried: Collection[str]
    """The models whose new versions a canary tries, by the same keys."""
    teams: Mapping[str, str]
    """The namespaces of the teams, by team."""
    prometheus: PrometheusArgs
    project: Path | None = None
    """The folder that the paths of `script` and `files` are relative to; None: this project."""
