"""The base of workloads' components, and the platform that they are created on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import pulumi

from tensorplane.components.base import problems
from tensorplane.components.base.problems import Key
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.queues.component import Queue
from tensorplane.components.streams.component import Stream
from tensorplane.components.volumes.component import Volume
from tensorplane.workloads.platform_settings import PlatformSettings
from tensorplane.workloads.training_job.run import Recorded

Created = TypeVar("Created", bound=pulumi.Resource)


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


class Workload(pulumi.ComponentResource):
    """A deployed workload and its outputs."""

    outputs: Mapping[str, Any]
    """Names, URLs and GPUs, exported under the workload's name."""
    gpus: int
    """GPUs that all of its pods request."""
