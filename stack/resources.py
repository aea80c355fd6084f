"""The resources of a stack: cluster, namespace, volumes, queues, streams and workloads, and what the stack exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import gpu_runtime
from tensorplane.components.agent import alerts as agent_alerts
from tensorplane.components.base import encrypted, outputs
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.controllers import registry as controllers
from tensorplane.components.controllers.base import Demand
from tensorplane.components.dashboards import queues as dashboards_queues
from tensorplane.components.dashboards import training as dashboards_training
from tensorplane.components.datasets.settings import by_volume
from tensorplane.components.gpu_runtime.component import GpuRuntime
from tensorplane.components.lost_nodes.component import LostNodes
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.queues.component import Queue, declare_cohorts, declare_flavors
from tensorplane.components.queues.quota_return import QuotaReturn
from tensorplane.components.queues.usage import Usage
from tensorplane.components.streams.component import streams_of
from tensorplane.components.teams import team as teams_team
from tensorplane.components.volumes import teams as team_volumes
from tensorplane.components.volumes.create import volumes_of
from tensorplane.stack import budgets, checks, gpu_guard, team_members, team_servers, team_settings, workload_stack
from tensorplane.stack.gpu_guard import Guard
from tensorplane.stack.resolved import ResolvedStack
from tensorplane.stack.settings import StackConfig
from tensorplane.version import __version__
from tensorplane.workloads.component import Platform, Space
from tensorplane.workloads.pods.library import SharedLibrary
from tensorplane.workloads.training_job import deployed_runs

if TYPE_CHECKING:
    from tensorplane.components.controllers.component import Controller
    from tensorplane.components.volumes.component import Volume
    from tensorplane.workloads.component import Workload


def build(resolved: ResolvedStack) -> Mapping[str, Any]:
    """Creates the stack's resources and returns its outputs. Notes appear as warnings of the preview or update."""
    config = resolved.config
    encrypted.keep(resolved.secret_words)
    for note in checks.notes(resolved):
        pulumi.log.warn(str(note))
    if config.platform:
        return workload_stack.build(resolved, config.platform)
    base = PlatformResources.of(resolved)
    if config.workloads or config.teams:
        base.keep_from_lost_nodes()
    if any(args.shares_library for args in config.workloads.values()):
        base.share_library()
    workloads = {
        name: args.build(name, ("workloads", name), base.platform, base.inside)
        for name, args in config.workloads.items()
    }
    return base.outputs(workloads)


@dataclass
class PlatformResources:
    """The resources of a stack that its workloads run on."""

    resolved: ResolvedStack
    platform: Platform
    inside: pulumi.ResourceOptions
    """Options of what is in the cluster."""
    _namespace: Namespace
    _installed: Mapping[str, Controller]
    _guard: Guard

    @classmethod
    def of(
        cls,
        resolved: ResolvedStack,
        *,
        more_workloads: bool = False,
        own_namespace: k8s.core.v1.Namespace | None = None,
    ) -> PlatformResources:
        """Creates cluster, namespace, volumes, queues and streams.

        `more_workloads`: whether the program declares workloads that the settings do not have. `own_namespace`: one
        that the program has made in place of the stack's.
        """
        config = resolved.config
        cluster = Cluster("cluster", config.cluster, resolved.fleet)
        inside = pulumi.ResourceOptions(provider=cluster.provider)
        _gpu_runtime(config, cluster, inside)
        namespace = _namespace(config, own_namespace, inside)
        installed = controllers.install(config.controllers, _demand(config, cluster), cluster=cluster, opts=inside)
        movers = [installed["volsync"]] if "volsync" in installed else []
        volumes = volumes_of(
            config.volumes,
            cluster=cluster,
            namespace=namespace,
            movers=movers,
            datasets=by_volume(config.datasets),
            opts=inside,
        )
        deployed = deployed_runs.reference()
        guard = gpu_guard.chosen(resolved, deployed)
        needed_by_jobs, queues, teams = _scheduling(
            resolved, cluster, namespace, installed, volumes, guard=guard, inside=inside
        )
        streams = streams_of(
            config.streams,
            cluster=cluster,
            namespace=namespace,
            settings=config.volumes,
            volumes=volumes,
            depends_on=[*needed_by_jobs, *queues.values()],
            autoscaled="keda" in config.cluster_controllers,
            opts=inside,
        )
        runs = deployed_runs.recorded(deployed) if more_workloads else deployed_runs.of_jobs(config.workloads, deployed)
        platform = Platform(
            cluster,
            namespace,
            volumes,
            streams,
            queues,
            teams,
            resolved.platform,
            needed_by_jobs,
            runs,
            resolved.secret,
        )
        return cls(resolved, platform, inside, namespace, installed, guard)

    def keep_from_lost_nodes(self) -> None:
        """The agent for lost nodes, where the cluster has several, after the controllers that the stack installs."""
        config = self.resolved.config
        if not config.cluster.has_one_node:
            spaces = {name: space.name for name, space in self.platform.teams.items()}
            installed = self._installed
            needed = [installed[name] for name in ("argo_workflows", "jobset", "kueue") if name in installed]
            LostNodes(
                config.nodes,
                cluster=self.platform.cluster,
                namespace=self._namespace,
                teams=spaces,
                controllers=needed,
                opts=self.inside,
            )

    def share_library(self) -> None:
        """One library for the training jobs of the stack's namespace."""
        self.platform = replace(self.platform, library=SharedLibrary(self._namespace))

    def outputs(self, workloads: Mapping[str, Workload]) -> dict[str, Any]:
        """What the stack exports."""
        usage = {"usage": found} if (found := budgets.of(self.resolved)) else {}
        own = _outputs(self.platform.cluster, self._namespace, workloads)
        return {**own, outputs.GPU_GUARD_KEY: self._guard.own, **usage}


def _gpu_runtime(config: StackConfig, cluster: Cluster, inside: pulumi.ResourceOptions) -> None:
    runtime = gpu_runtime.of(config.gpu_runtime, config.cluster, cluster.fleet)
    if runtime.kind != "present":
        GpuRuntime(runtime, cluster=cluster, opts=inside)


def _namespace(config: StackConfig, own: k8s.core.v1.Namespace | None, inside: pulumi.ResourceOptions) -> Namespace:
    """The stack's namespace, protected if its deletion would delete data that is retained."""
    retained = [volume.retain for volume in config.volumes.values()]
    retained += [stream.retained(config.volumes) for stream in config.streams.values()]
    name, teams = config.namespace_name, config.team_namespaces
    return Namespace(name, protect=any(retained), teams=teams, own=own, opts=inside)


def _demand(config: StackConfig, cluster: Cluster) -> Demand:
    return Demand(
        queues=config.queues,
        cohorts=config.cohorts,
        volumes=config.volumes,
        workloads=config.controllers_of_workloads,
        of_cluster=config.cluster.controllers,
        load_balancer=config.cluster.load_balancer(public=False) if config.cluster.load_balancers else None,
        uncounted=cluster.network_resources | _extended(config),
    )


def _extended(config: StackConfig) -> frozenset[str]:
    """The extended resources that workloads request besides accelerators."""
    pod_sets = (pods for workload in config.workloads.values() for pods in workload.pod_sets())
    return frozenset(name for pods in pod_sets for name in pods.resources.extended)


def _scheduling(
    resolved: ResolvedStack,
    cluster: Cluster,
    namespace: Namespace,
    installed: Mapping[str, Controller],
    volumes: Mapping[str, Volume],
    *,
    guard: Guard,
    inside: pulumi.ResourceOptions,
) -> tuple[list[pulumi.Resource], dict[str, Queue], dict[str, Space]]:
    """What jobs need, the queues and the teams. Without jobs, no controller is installed."""
    config = resolved.config
    needed_by_jobs: list[pulumi.Resource] = [
        installed[name] for name in sorted(config.controllers_of_workloads) if name in installed
    ]
    everywhere = [namespace.plain_name, *config.team_namespaces.values()]
    if config.controllers.agent_alerts:
        agent_alerts.declare(everywhere, namespace, inside)
    if config.controllers.training_dashboard:
        dashboards_training.declare(everywhere, namespace, inside)
    if not config.queues:
        return [*needed_by_jobs, *gpu_guard.declare(resolved, guard, namespace, {}, inside)], {}, {}
    # In parallel with JobSet: Kueue waits for JobSet's API by itself.
    kueue = [installed["kueue"]] if "kueue" in installed else []
    ready = pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=kueue)) if kueue else inside
    teams = teams_team.declare(config.teams, inside)
    team_members.allow(config, cluster, teams, inside)
    claims = team_volumes.declare(
        {name: args.volumes for name, args in config.teams.items()}, teams, volumes, namespace.plain_name, inside
    )
    team_settings.declare(resolved, teams, inside)
    team_servers.allow(resolved, namespace, inside)
    depends_on = [
        *declare_flavors(resolved.flavors, namespace, ready),
        *declare_cohorts(config.cohorts, namespace, ready),
    ]
    after = pulumi.ResourceOptions.merge(ready, pulumi.ResourceOptions(depends_on=depends_on))
    queues = {
        name: Queue(name, args, namespace=namespace, teams=teams, flavors=resolved.flavors, opts=after)
        for name, args in config.queues.items()
    }
    needed_by_jobs += gpu_guard.declare(resolved, guard, namespace, teams, inside)
    gives_gpus = teams_team.gpus_at_most(config.queues, resolved.quotas, None) > 0
    if gives_gpus and config.controllers.kueue == "chart":
        flavors = [*resolved.flavors.values()]
        QuotaReturn(cluster=cluster, namespace=namespace, teams=teams, flavors=flavors, opts=after)
    if gives_gpus:
        Usage(
            cluster=cluster,
            namespace=namespace,
            spaces=config.team_namespaces,
            teams=teams,
            budgets=budgets.of(resolved),
            opts=after,
        )
    if config.controllers.kueue_dashboard:
        dashboards_queues.declare(list(config.queues), everywhere, namespace, inside)
    of_teams = {name: Space(space, teams[name], claims[name]) for name, space in config.team_namespaces.items()}
    return needed_by_jobs, queues, of_teams


def _outputs(cluster: Cluster, namespace: Namespace, workloads: Mapping[str, Workload]) -> dict[str, Any]:
    machines = cluster.fleet
    of_fleet = {"gpusMax": machines.gpus_max, "hourlyUsdMax": machines.hourly_usd_max} if machines.groups else {}
    # A secret, as each cloud creates it. The user has the kubeconfig of an existing cluster already.
    access = {"kubeconfig": cluster.kubeconfig} if cluster.native is not None else {}
    return {
        outputs.VERSION_KEY: outputs.VERSION,
        outputs.PROGRAM_KEY: __version__,
        **of_fleet,
        **access,
        "cluster": cluster.args.kind,
        "namespace": encrypted.concealed(namespace.name),
        "gpus": sum(workload.gpus for workload in workloads.values()),
        "workloads": {name: encrypted.concealed(dict(workload.outputs)) for name, workload in workloads.items()},
    }
