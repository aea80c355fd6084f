"""Values derived from a stack's settings, computed once: node groups, flavors, quotas and what queues can admit."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tensorplane.components import gpu_runtime
from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.node_groups import fleet as fleets
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues import capacity, flavors, quota, topology, unqueued
from tensorplane.components.queues.capacity import QueueCapacity
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.quota import Quota
from tensorplane.stack.settings import StackConfig
from tensorplane.workloads import tiers
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.model_server import model_sources
from tensorplane.workloads.platform_settings import PlatformSettings
from tensorplane.workloads.pods.mounts import Location


@dataclass(frozen=True)
class PlatformStack:
    """What a workload stack knows of the stack that it names as its platform."""

    workloads: frozenset[str]
    """Names of its own workloads."""
    controllers: frozenset[str]
    """Names of the controllers for workloads that its cluster has."""


@dataclass(frozen=True)
class ResolvedStack:
    """The settings of a stack with the derived values for checks, resources and the command line."""

    config: StackConfig
    fleet: Fleet
    """The node groups, completed from the catalog and the GPU runtime."""
    levels: Mapping[str, str]
    """Labels of the topology levels by which Kueue places pods, by their names in the settings."""
    flavors: Mapping[str, Flavor]
    """The flavors of the queues. Empty if `problems` leave the machines unknown."""
    quotas: Mapping[str, list[Quota]]
    """Each queue's quotas by flavor."""
    capacities: Mapping[str, QueueCapacity]
    """What each queue can admit."""
    problems: tuple[Problem, ...] = ()
    """Problems of the node groups. A stack with problems is never built."""
    secret: frozenset[Key] = frozenset()
    """Encrypted settings."""
    project: Path | None = None
    """The folder that the paths of workloads' files are relative to; None: this project."""
    on: PlatformStack | None = None
    """Of a workload stack: the stack of its platform. None for a stack with its own platform."""
    secret_words: frozenset[str] = frozenset()
    """Every text in the encrypted settings, which the state must not have in plain."""
    former_names: tuple[Note, ...] = ()
    """A warning for each setting under a former name."""

    @classmethod
    def of(
        cls,
        config: StackConfig,
        secret: frozenset[Key] = frozenset(),
        project: Path | None = None,
        on: PlatformStack | None = None,
    ) -> "ResolvedStack":
        """Resolves settings with valid types; they may still contradict each other."""
        machines, problems = fleets.of(config.node_groups, config.cluster.cluster_properties)
        problems += config.cluster.check(machines.groups)
        fleet = gpu_runtime.prepared(config.gpu_runtime, config.cluster, machines)
        config = _with_references(config, fleet)
        levels = _levels(config, fleet)
        own_nodes = config.cluster.own_nodes
        found = {} if problems else flavors.of(fleet, own_nodes=own_nodes, levels=tuple(levels.values()))
        quotas = {name: quota.of(args, found) for name, args in config.queues.items()} if found else {}
        capacities = capacity.queue_capacities(config.queues, quotas, fleet, levels) if found else {}
        return cls(config, fleet, levels, found, quotas, capacities, tuple(problems), secret, project, on)

    @property
    def workloads(self) -> dict[str, WorkloadArgs]:
        """The workloads that the stack itself declares."""
        of_platform = self.on.workloads if self.on else ()
        return {name: one for name, one in self.config.workloads.items() if name not in of_platform}

    @property
    def platform(self) -> PlatformSettings:
        """The names that its workloads can refer to."""
        config = self.config
        return PlatformSettings(
            config.cluster,
            self.fleet,
            config.namespace_name,
            config.volumes,
            config.streams,
            config.datasets,
            self.capacities,
            self.models,
            self.model_names,
            self.tried,
            config.team_namespaces,
            config.controllers,
            self.project,
        )

    @property
    def models(self) -> dict[str, Location]:
        """The folders of the model servers: by server, and by server and model where it has several."""
        return {
            name if len(one.models_served) == 1 else f"{name}/{key[-1]}": folder
            for name, one in self.config.workloads.items()
            for key, folder in one.models_read.items()
        }

    @property
    def model_names(self) -> dict[str, str]:
        """The models' names for clients, by the keys of `models`."""
        return {
            name if len(one.models_served) == 1 else f"{name}/{model}": model
            for name, one in self.config.workloads.items()
            for model in one.models_served
        }

    @property
    def tried(self) -> frozenset[str]:
        """The models whose new versions a canary tries, by the keys of `models`."""
        served = {key: model_sources.served(key, self.config.workloads) for key in self.model_names}
        return frozenset(key for key, model in served.items() if model and model.canary)

    @property
    def gpus_without_queue(self) -> dict[str, dict[Key, int]]:
        """The GPUs that workloads without a queue may hold, by flavor and by the path of the pods' resources."""
        found: dict[str, dict[Key, int]] = {}
        for name, workload in self.config.workloads.items():
            for pods in workload.unqueued():
                at = ("workloads", name, *pods.at)
                may = unqueued.usable_flavors(
                    pods.resources, self.fleet, self.flavors, interruptible=pods.interruptible
                )
                for flavor in may:
                    held = found.setdefault(flavor, {})
                    held[at] = held.get(at, 0) + pods.gpus
        return found


def _with_references(config: StackConfig, fleet: Fleet) -> StackConfig:
    """The settings with the fleet's accelerators in place of tiers, and folders in place of publishing jobs."""
    workloads = {name: tiers.resolved(one, fleet) for name, one in config.workloads.items()}
    return config.model_copy(update={"workloads": model_sources.resolved(workloads)})


def _levels(config: StackConfig, fleet: Fleet) -> dict[str, str]:
    if config.topology is not None:
        return topology.labels_of(config.topology, config.cluster.network_levels)
    return topology.default_levels(fleet.groups.values()) if config.controllers.kueue == "chart" else {}
