"""Problems of a stack beyond the types of its settings: unknown names and combinations that cannot work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from tensorplane.components import gpu_runtime
from tensorplane.components.base.model import NAME_LIMIT, NAME_RULE, is_name
from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.controllers import registry as controllers
from tensorplane.components.datasets import checks as dataset_checks
from tensorplane.components.namespace.rules import namespace_owner
from tensorplane.components.node_groups.checks import unreached
from tensorplane.components.queues import checks as queue_checks
from tensorplane.components.queues import topology as queue_topology
from tensorplane.components.queues import unqueued
from tensorplane.components.queues.capacity import QueueCapacity
from tensorplane.components.queues.manifest import DEFAULT, cluster_wide_name
from tensorplane.components.streams import checks as stream_checks
from tensorplane.components.volumes import acknowledged
from tensorplane.components.volumes import checks as volume_check
from tensorplane.components.volumes import teams as team_volumes
from tensorplane.components.volumes.mirrors import volsync
from tensorplane.stack import team_members
from tensorplane.stack.resolved import ResolvedStack
from tensorplane.stack.settings import StackConfig
from tensorplane.workloads import checks as workload_checks
from tensorplane.workloads.family import Declared, WorkloadArgs

if TYPE_CHECKING:
    from tensorplane.components.base.settings import Settings

T = TypeVar("T")

_CONTROLLERS = {
    "argo_workflows": ("Argo Workflows", "pipeline", "argoWorkflows"),
    "gateway": ("Traefik", "model server with a Gateway of its class", "gateway"),
    "jobset": ("JobSet", "jobs", "jobset"),
    "keda": ("KEDA", "model server that scales by metrics", "keda"),
    "metrics_server": ("metrics-server", "model server that scales on cpu", "metricsServer"),
    "prometheus": ("Prometheus", "model server that scales by metrics", "keda"),
}
"""Controllers of workloads: the name, what uses it, and its key in the settings."""


def find_problems(resolved: ResolvedStack, settings: Settings) -> Iterator[Problem]:
    """Every problem of settings with valid types."""
    config = resolved.config
    yield from _namespace(config)
    yield from _queue_names(config)
    yield from controllers.find_problems(config.controllers)
    if not _is_given(config.cluster, settings):
        # Whether machines, volumes and workloads are valid depends on the kind of the cluster.
        return
    yield from resolved.problems
    yield from gpu_runtime.check(config.gpu_runtime, config.cluster, resolved.fleet)
    volumes = _declared(settings, "volumes", config.volumes)
    yield from volume_check.find_problems(config.volumes, volumes, config.cluster)
    yield from acknowledged.find_problems(config.acknowledge, volumes)
    yield from stream_checks.find_problems(config.streams, volumes, config.cluster)
    records = {
        one.volume: name for name, one in config.streams.items() if one.volume and one.is_on_the_volume(config.cluster)
    }
    yield from dataset_checks.find_problems(config.datasets, volumes, records, config.cluster)
    yield from team_volumes.find_problems(
        {name: args.volumes for name, args in config.teams.items()}, volumes, {*records}, config.cluster
    )
    yield from _default_queue(config)
    yield from team_members.find_problems(config)
    flavors = None if resolved.problems else resolved.flavors
    yield from queue_topology.find_problems(config.topology or (), config.cluster.network_levels, resolved.fleet.groups)
    queues = list(queue_checks.find_problems(config.queues, config.cohorts, config.teams, flavors))
    yield from queues
    if flavors:
        yield from unqueued.find_problems(resolved.gpus_without_queue, config.queues, flavors)
    yield from queue_checks.of_stacks_namespace(config.teams.items(), config.namespace_name)
    invalid = {problem.path[1] for problem in queues if problem.path[0] == "queues"}
    yield from _workloads(
        resolved, settings, {name: capacity for name, capacity in resolved.capacities.items() if name not in invalid}
    )
    if config.platform:
        yield from _of_workload_stack(resolved, config.platform)


def notes(resolved: ResolvedStack) -> Iterator[Note]:
    """Notes about settings without problems. Teams have jobs that no settings declare."""
    config, fleet = resolved.config, resolved.fleet
    yield from resolved.former_names
    yield from workload_checks.notes(_by_path(resolved.workloads), config.streams, config.cluster, fleet)
    if config.platform:
        return
    if config.workloads and not config.teams:
        pods = [pods for workload in config.workloads.values() for pods in workload.pod_sets()]
        yield from unreached.notes(fleet, {(each.resources.node_group, each.interruptible) for each in pods})
    yield from config.cluster.notes(fleet.groups)
    yield from queue_checks.notes(config.queues, teams=config.teams, cohorts=config.cohorts, topology=config.topology)
    yield from volume_check.notes(config.volumes, config.cluster)
    yield from stream_checks.notes(config.streams, config.cluster)


def _is_given(cluster: ClusterArgs, settings: Settings) -> bool:
    """Whether the settings of the cluster are valid: invalid ones are replaced by the default."""
    given = settings.tree.get("cluster", {"kind": Embedded().kind})
    return isinstance(given, Mapping) and given.get("kind") == cluster.kind


def _workloads(
    resolved: ResolvedStack, settings: Settings, capacities: Mapping[str, QueueCapacity]
) -> Iterator[Problem]:
    config, fleet = resolved.config, resolved.fleet
    workloads = _declared(settings, "workloads", config.workloads)
    declared = Declared(
        cluster=config.cluster,
        fleet=fleet,
        volumes=_declared(settings, "volumes", config.volumes),
        streams=_declared(settings, "streams", config.streams),
        datasets=_declared(settings, "datasets", config.datasets),
        queues=_declared(settings, "queues", config.queues),
        capacities=capacities,
        teams=_declared(settings, "teams", config.teams),
        models={
            **dict.fromkeys(name for name, one in workloads.items() if one is None),
            **dict.fromkeys(resolved.model_names),
            **resolved.models,
        },
        prometheus=config.controllers,
        workloads=frozenset(workloads),
        project=resolved.project,
    )
    yield from workload_checks.find_problems(_by_path(config.workloads), config.streams, declared)


def _by_path(workloads: Mapping[str, WorkloadArgs]) -> dict[Key, WorkloadArgs]:
    return {("workloads", name): workload for name, workload in workloads.items()}


def _of_workload_stack(resolved: ResolvedStack, platform: str) -> Iterator[Problem]:
    """What a workload may do only in the stack of its platform, whose policies and quotas name its own workloads."""
    for name, workload in resolved.workloads.items():
        missing = workload.controllers - (resolved.on.controllers if resolved.on else set())
        for controller in sorted(missing - {"prometheus"} if "keda" in missing else missing):
            title, user, key = _CONTROLLERS[controller]
            reason = f"is a {workload.kind}, but stack {platform} installs no {title}, because it has no {user} itself"
            remedy = f"set controllers: {{{key}: chart}} in Pulumi.{platform}.yaml"
            yield Problem(("workloads", name), f"{reason}; {remedy}")
        for pods in workload.unqueued():
            if pods.gpus:
                reason = f"only workloads of platform {platform} itself hold GPUs without a queue"
                remedy = f"set queue to one of its queues, or declare the workload in Pulumi.{platform}.yaml"
                yield Problem(("workloads", name, *pods.at), f"{reason}; {remedy}")


def _namespace(config: StackConfig) -> Iterator[Problem]:
    if not is_name(config.namespace_name):
        reason = (
            f"missing, and the default from the stack's name, {config.namespace_name}, is not a valid name; "
            f"use {NAME_RULE}"
        )
        yield Problem(("namespace",), reason)
    elif owner := namespace_owner(config.namespace_name):
        yield Problem(("namespace",), f"{config.namespace_name} is {owner}; use another namespace")


def _queue_names(config: StackConfig) -> Iterator[Problem]:
    namespace = config.namespace_name
    for name in config.queues:
        limit = NAME_LIMIT - len(cluster_wide_name(namespace, ""))
        if len(name) > limit:
            reason = f"the name has {len(name)} characters; shorten it to {limit}, the limit in namespace {namespace}"
            yield Problem(("queues", name), reason)


def _default_queue(config: StackConfig) -> Iterator[Problem]:
    """Kueue puts jobs without a queue into a queue of this name: our Kueue only JobSets, and with pipelines all pods;
    another perhaps all pods."""
    if DEFAULT not in config.queues:
        return
    if config.controllers.kueue == "chart":
        if "argo_workflows" in config.controllers_of_workloads:
            reason = "with pipelines, Kueue puts every pod that names no queue into this one; use another name"
            given = (("controllers", "argoWorkflows"), ("workloads",))
            yield Problem(("queues", DEFAULT), reason, given=given)
        return
    waiting = [
        f"take snapshots of {name}" for name, one in config.volumes.items() if one.scheduled_class(config.cluster)
    ]
    waiting += [f"mirror {name}" for name in config.volumes if volsync.takes_part(name, config.volumes)]
    waiting += [f"serve {name}" for name, one in config.workloads.items() if one.stays]
    if waiting:
        reason = f"the cluster's own Kueue may queue the pods that {waiting[0]} in it; use another name"
        others = (("volumes",), ("workloads",), ("controllers", "kueue"))
        yield Problem(("queues", DEFAULT), reason, given=others)


def _declared(settings: Settings, section: str, valid: Mapping[str, T]) -> dict[str, T | None]:
    """Every declared name, including invalid entries: a reference to one is not a second problem."""
    raw = settings.tree.get(section)
    names = {str(name) for name in raw} if isinstance(raw, Mapping) else set()
    return {name: valid.get(name) for name in sorted(names | set(valid))}
