"""What follows from a stack's settings, computed once: node groups, flavors, quotas and what queues can admit."""

from collections.abc import Mapping
from dataclasses import dataclass

from components import gpu_runtime
from components.base.faults import Fault, Key
from components.node_groups import fleet as fleets
from components.node_groups.fleet import Fleet
from components.queues import flavors, quota, room, topology, unqueued
from components.queues.flavors import Flavor
from components.queues.quota import Quota
from components.queues.room import Room
from stack.settings import StackConfig
from workloads.platform_settings import PlatformSettings


@dataclass(frozen=True)
class ResolvedStack:
    """The settings of a stack with everything that checks, build and the command line derive from them."""

    config: StackConfig
    fleet: Fleet
    """The node groups as the catalog and the GPU runtime complete them."""
    levels: Mapping[str, str]
    """Labels of the network's levels by which Kueue places pods, by their names in settings."""
    flavors: Mapping[str, Flavor]
    """The flavors that queues draw from. Empty where `faults` leave open which machines there are."""
    quotas: Mapping[str, list[Quota]]
    """Of each queue, what it has of each flavor."""
    rooms: Mapping[str, Room]
    """Of each queue, what it can admit."""
    faults: tuple[Fault, ...] = ()
    """Faults of the node groups. A stack that has any is never built."""
    secret: frozenset[Key] = frozenset()
    """Settings that are stored encrypted."""

    @classmethod
    def of(cls, config: StackConfig, secret: frozenset[Key] = frozenset()) -> "ResolvedStack":
        """Resolve settings of the right shape; they may still contradict each other."""
        machines, wrong = fleets.of(config.node_groups, config.cluster.site)
        wrong += config.cluster.check(machines.groups)
        fleet = gpu_runtime.prepared(config.gpu_runtime, config.cluster, machines)
        levels = _levels(config, fleet)
        own_nodes = config.cluster.own_nodes
        found = {} if wrong else flavors.of(fleet, own_nodes=own_nodes, levels=tuple(levels.values()))
        quotas = {name: quota.of(args, found) for name, args in config.queues.items()} if found else {}
        rooms = room.of(config.queues, quotas, fleet, levels) if found else {}
        return cls(config, fleet, levels, found, quotas, rooms, tuple(wrong), secret)

    @property
    def platform(self) -> PlatformSettings:
        """What its workloads refer to."""
        config = self.config
        return PlatformSettings(
            config.cluster, self.fleet, config.namespace_name, config.volumes, config.streams, self.rooms
        )

    @property
    def gpus_without_queue(self) -> dict[str, dict[str, int]]:
        """The GPUs that workloads without a queue may hold, by flavor and by workload."""
        found: dict[str, dict[str, int]] = {}
        for name, workload in self.config.workloads.items():
            for pods in workload.pod_sets() if workload.gpus_without_queue else ():
                may = unqueued.kinds_of(pods.resources, self.fleet, self.flavors, interruptible=pods.interruptible)
                for flavor in may:
                    found.setdefault(flavor, {})[name] = workload.gpus_without_queue
        return found


def _levels(config: StackConfig, fleet: Fleet) -> dict[str, str]:
    if config.topology is not None:
        return topology.labels_of(config.topology, config.cluster.network_levels)
    return topology.default_levels(fleet.groups.values()) if config.controllers.kueue == "chart" else {}
