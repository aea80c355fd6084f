"""The whole stack: its settings as one model, names cross-checked, and the resources that they come to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import pulumi
from pydantic import Field, PrivateAttr

from components import consequences, controllers, faults, fleet, gpu_runtime, queue, versions
from components import settings as stack_settings
from components.cluster import Cluster, ClusterArgs, with_context
from components.cluster.embedded import Embedded
from components.controllers import Controller, ControllersArgs
from components.faults import Fault, Key, Note
from components.fleet import Fleet
from components.gpu_runtime import GpuRuntime, GpuRuntimeArgs
from components.model import NAME_LIMIT, NAME_NEEDS, Filled, Model, Name, is_name
from components.namespace import Namespace, namespace_owner
from components.node_group import NodeGroupArgs
from components.queue import CohortArgs, Queue, QueueArgs, TeamArgs, admission, beside, dashboard, flavors, room, team
from components.queue import check as queue_check
from components.queue import topology as queue_topology
from components.queue.flavors import Flavor
from components.queue.quota import of as quotas_of
from components.queue.room import Room
from components.settings import Settings
from components.stream import Stream
from components.volume import Volume, VolumeArgs, volsync, volumes_of
from components.volume import check as volume_check
from workloads import Declared, Platform, Workload, WorkloadArgs, one_node, one_zone, server_room

T = TypeVar("T")

_ACCOUNT_OF_EVERY_NAMESPACE = "default"


class StackConfig(Model):
    """Everything under `tensorplane:` in Pulumi.<stack>.yaml. Maps are keyed by name; others refer to the name."""

    cluster: Annotated[ClusterArgs, Field(default_factory=Embedded)]
    """The cluster: `embedded` (this machine, the default), `existing` (a context of your kubeconfig), or a cloud's."""
    node_groups: Annotated[dict[Name, NodeGroupArgs], Field(default_factory=dict)]
    """The cluster's machines, a group for each kind. On an existing cluster they describe the nodes that are there."""
    gpu_runtime: GpuRuntimeArgs | None = None
    """What makes GPUs available to pods; by default what the kind of cluster needs, where a node group has GPUs."""
    namespace: Name | None = None
    """Namespace of the stack's objects; `tensorplane-<stack>` by default."""
    controllers: ControllersArgs = ControllersArgs()
    """Where Kueue, JobSet and VolSync come from."""
    volumes: Annotated[dict[Name, VolumeArgs], Field(default_factory=dict)]
    """Storage that outlives what mounts it."""
    queues: Annotated[dict[Name, QueueArgs], Field(default_factory=dict)]
    """What shares the cluster between jobs."""
    cohorts: Annotated[dict[Name, CohortArgs], Field(default_factory=dict)]
    """Queues that lend to each other before they borrow from the rest."""
    topology: tuple[Filled, ...] = ()
    """Levels of the network from wide to narrow, such as [zone, host], by which queues keep the pods of a job near to
    each other. Only for groups whose number of nodes is fixed. By default the scheduler decides."""
    teams: Annotated[dict[Name, TeamArgs], Field(default_factory=dict)]
    """Namespaces beside the stack's own that have queues."""
    workloads: Annotated[dict[Name, WorkloadArgs], Field(default_factory=dict)]
    """Training jobs and model servers."""

    _secret: frozenset[Key] = PrivateAttr(default=frozenset())

    @classmethod
    def load(cls, settings: Settings | None = None) -> "StackConfig":
        """The settings of the running stack, or `pulumi.RunError` with every fault in them, a line each."""
        running, settings = settings is None, settings or Settings.of_stack()
        settings = replace(settings, tree=with_context(settings.tree))
        config, found = stack_settings.validated(cls, settings)
        found += stack_settings.misread(config, settings.rewritten)
        beyond = faults.certain(config.check(settings), settings.unread)
        for key in ("cluster", "gpuRuntime"):
            if settings.tree.get(key) is None:
                beyond = consequences.of_default((key,), beyond)
        wrong = consequences.own_causes(found, beyond)
        words = settings.secret_words()
        told = [*faults.hiding(found, (), words), *faults.hiding(wrong, settings.secret, words)]
        faults.stop([*settings.wrong, *told])
        if running and (nothing := settings.declares_nothing()):
            raise pulumi.RunError(nothing)
        config._secret = settings.secret
        return config

    def check(self, settings: Settings) -> Iterator[Fault]:
        """What is wrong beyond the shape: names that nobody declares, combinations that cannot work."""
        yield from self._check_namespace()
        yield from self._check_queue_names()
        yield from self.controllers.check()
        if not self._cluster_is_told(settings):
            # Machines, volumes and workloads are right or wrong by the kind of the cluster.
            return
        machines, wrong = fleet.of(self.node_groups, self.cluster.site)
        wrong += self.cluster.check(machines.groups)
        yield from wrong
        yield from gpu_runtime.check(self.gpu_runtime, self.cluster, machines)
        yield from volume_check.faults(self.volumes, _declared(settings, "volumes", self.volumes), self.cluster)
        yield from self._check_default_queue()
        # It is clear which machines there are, and how many.
        kinds = None if wrong else self._kinds(machines)
        yield from queue_topology.faults(self.topology, self.cluster.network_levels, machines.groups)
        queues = list(queue_check.faults(self.queues, self.cohorts, self.teams, kinds))
        yield from queues
        if kinds:
            yield from beside.faults(self._gpus_beside_queues(machines, kinds), self.queues, kinds)
        yield from queue_check.of_stacks_namespace(self.teams.items(), self.namespace_name)
        faulty = {fault.path[1] for fault in queues if fault.path[0] == "queues"}
        rooms = room.of(self.queues, kinds, machines, self.levels) if kinds else {}
        told = {name: found for name, found in rooms.items() if name not in faulty}
        yield from self._check_workloads(settings, machines, told)

    def _gpus_beside_queues(self, machines: Fleet, kinds: Mapping[str, Flavor]) -> dict[str, dict[str, int]]:
        """The GPUs that workloads may hold without a queue, by the kind of machine and by workload."""
        found: dict[str, dict[str, int]] = {}
        for name, workload in self.workloads.items():
            if workload.gpus_beside_queues:
                may = beside.kinds_of(workload.resources, machines, kinds, interruptible=workload.interruptible)
                for kind in may:
                    found.setdefault(kind, {})[name] = workload.gpus_beside_queues
        return found

    def _kinds(self, machines: Fleet) -> dict[str, Flavor]:
        return flavors.of(machines, own_nodes=self.cluster.own_nodes, levels=tuple(self.levels.values()))

    @property
    def levels(self) -> dict[str, str]:
        """Labels of the network's levels, by their names in settings."""
        return queue_topology.labels_of(self.topology, self.cluster.network_levels)

    @property
    def kinds(self) -> dict[str, Flavor]:
        """The kinds of machines that queues draw from."""
        return self._kinds(self.fleet)

    @property
    def rooms(self) -> dict[str, Room]:
        """What each queue has of each kind."""
        return room.of(self.queues, self.kinds, self.fleet, self.levels)

    def _cluster_is_told(self, settings: Settings) -> bool:
        """Whether the cluster is the one that the settings name: in place of a faulty one stands the default."""
        given = settings.tree.get("cluster", {"kind": Embedded().kind})
        return isinstance(given, Mapping) and given.get("kind") == self.cluster.kind

    def _check_workloads(self, settings: Settings, machines: Fleet, rooms: Mapping[str, Room]) -> Iterator[Fault]:
        declared = Declared(
            cluster=self.cluster,
            fleet=machines,
            volumes=_declared(settings, "volumes", self.volumes),
            queues=_declared(settings, "queues", self.queues),
            rooms=rooms,
        )
        found: list[Fault] = []
        for name, volume in self._brokers().items():
            if name in self.workloads:
                reason = f"the name of a service of volume {volume}'s stream, need another"
                yield Fault(("workloads", name), reason, given=(("volumes", volume),))
        yield from self._check_servers_beside_streams()
        for name, workload in self.workloads.items():
            if name == _ACCOUNT_OF_EVERY_NAMESPACE:
                yield Fault(("workloads", name), "the name of a service account that every namespace has, need another")
            found += workload.check(name, declared)
        yield from found
        yield from server_room.faults(self.workloads, machines)
        apart = list(one_node.faults(self.workloads, declared))
        yield from apart
        told = {fault.path for fault in apart}
        yield from (fault for fault in one_zone.faults(self.workloads, declared) if fault.path not in told)

    def notes(self) -> Iterator[Note]:
        """What is worth knowing of settings without faults. Teams have jobs that no settings name."""
        if self.workloads and not self.teams:
            pods = {(workload.resources.node_group, workload.interruptible) for workload in self.workloads.values()}
            yield from self.fleet.unreached(pods)

    def _brokers(self) -> dict[str, str]:
        """The services in front of the streams' brokers, and whose each is."""
        return {
            service: name
            for name, volume in self.volumes.items()
            if volume.stream and (broker := volume.stream.broker_on(self.cluster))
            for service in broker.services(name)
        }

    def _check_servers_beside_streams(self) -> Iterator[Fault]:
        """Both have a network policy that lets their clients in, and its name ends the same."""
        for volume, args in self.volumes.items():
            server = self.workloads.get(name := f"{volume}-stream")
            if args.stream and server and server.kind == "modelServer":
                reason = f"the name of the network policies of volume {volume}'s stream, need another"
                yield Fault(("workloads", name), reason, given=(("volumes", volume),))

    def _check_namespace(self) -> Iterator[Fault]:
        if not is_name(self.namespace_name):
            reason = f"missing, and the stack's name would make it {self.namespace_name}; need {NAME_NEEDS}"
            yield Fault(("namespace",), reason)
        elif owner := namespace_owner(self.namespace_name):
            yield Fault(("namespace",), f"{self.namespace_name} is {owner}; take a name that nothing else has")

    def _check_queue_names(self) -> Iterator[Fault]:
        namespace = self.namespace_name
        for name in self.queues:
            room = NAME_LIMIT - len(queue.cluster_wide_name(namespace, ""))
            if len(name) > room:
                yield Fault(
                    ("queues", name), f"the name has {len(name)} characters, at most {room} in namespace {namespace}"
                )

    def _check_default_queue(self) -> Iterator[Fault]:
        """Kueue gives a queue of this name what names none. Ours does so with JobSets; another may with all pods."""
        if queue.DEFAULT not in self.queues or self.controllers.kueue != "present":
            return
        waiting = [
            f"take snapshots of {name}" for name, one in self.volumes.items() if one.scheduled_class(self.cluster)
        ]
        waiting += [f"mirror {name}" for name in self.volumes if volsync.takes_part(name, self.volumes)]
        waiting += [f"serve {name}" for name, one in self.workloads.items() if one.kind == "modelServer"]
        if waiting:
            reason = f"the cluster's Kueue may let the pods wait in it that {waiting[0]}; give it another name"
            given = (("volumes",), ("workloads",), ("controllers", "kueue"))
            yield Fault(("queues", queue.DEFAULT), reason, given=given)

    @property
    def shares_fairly(self) -> bool:
        """Whether weights decide who borrows how much."""
        weights = [*(queue.weight for queue in self.queues.values()), *(each.weight for each in self.cohorts.values())]
        return any(weight is not None for weight in weights)

    @property
    def fleet(self) -> Fleet:
        """The node groups, with what the catalog makes of their settings."""
        machines = fleet.of(self.node_groups, self.cluster.site)[0]
        runtime = gpu_runtime.of(self.gpu_runtime, self.cluster, machines)
        return replace(machines, runtime_class=runtime.runtime_class)

    @property
    def namespace_name(self) -> str:
        """The namespace in use."""
        return self.namespace or f"tensorplane-{pulumi.get_stack()}"


def _declared(settings: Settings, section: str, valid: Mapping[str, T]) -> dict[str, T | None]:
    """Every declared name: a reference to something faulty is not a second fault."""
    raw = settings.tree.get(section)
    names = {str(name) for name in raw} if isinstance(raw, Mapping) else set()
    return {name: valid.get(name) for name in sorted(names | set(valid))}


def build(config: StackConfig) -> Mapping[str, Any]:
    """Create the stack's resources; the result is what it exports. Updates and previews tell the notes as warnings."""
    for note in config.notes():
        pulumi.log.warn(str(note))
    cluster = Cluster("cluster", config.cluster, config.fleet)
    inside = pulumi.ResourceOptions(provider=cluster.provider)
    _gpu_runtime(config, cluster, inside)
    namespace = Namespace(
        config.namespace_name, protect=any(volume.retain for volume in config.volumes.values()), opts=inside
    )
    movers = _volsync(config, cluster, inside)
    volumes = volumes_of(config.volumes, cluster=cluster, namespace=namespace, movers=movers, opts=inside)
    job_controllers, queues = _scheduling(config, cluster, namespace, inside)
    streams = _streams(config, cluster, namespace, volumes, [*job_controllers, *queues.values()], inside)
    platform = Platform(cluster, namespace, volumes, streams, queues, config.rooms, job_controllers, config._secret)
    workloads = {name: args.build(name, platform, inside) for name, args in config.workloads.items()}
    return _outputs(cluster, namespace, workloads)


def _streams(
    config: StackConfig,
    cluster: Cluster,
    namespace: Namespace,
    volumes: Mapping[str, Volume],
    needed: Sequence[pulumi.Resource],
    inside: pulumi.ResourceOptions,
) -> dict[str, Stream]:
    """The streams of the volumes that have one, by the volumes' names."""
    return {
        name: Stream(
            name,
            args.stream,
            cluster=cluster,
            namespace=namespace,
            claim=volumes[name].claim,
            retain=args.retain,
            needed=needed,
            opts=inside,
        )
        for name, args in config.volumes.items()
        if args.stream
    }


def _gpu_runtime(config: StackConfig, cluster: Cluster, inside: pulumi.ResourceOptions) -> None:
    runtime = gpu_runtime.of(config.gpu_runtime, config.cluster, cluster.fleet)
    if runtime.kind != "present":
        GpuRuntime(runtime, cluster=cluster, opts=inside)


def _volsync(config: StackConfig, cluster: Cluster, inside: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """VolSync, where a mirror needs it and the stack is to install it."""
    if config.controllers.volsync != "chart" or not any(
        volsync.takes_part(name, config.volumes) for name in config.volumes
    ):
        return []
    alerts = any(args.mirror is not None and args.mirror.alert for args in config.volumes.values())
    values = controllers.volsync_values(alerts=alerts)
    return [Controller(versions.VOLSYNC, values, cluster=cluster, opts=inside)]


def _scheduling(
    config: StackConfig, cluster: Cluster, namespace: Namespace, inside: pulumi.ResourceOptions
) -> tuple[list[pulumi.Resource], dict[str, Queue]]:
    """The controllers that the stack needs, and its queues. A stack without jobs installs none."""
    job_controllers: list[pulumi.Resource] = []
    if config.controllers.jobset == "chart" and any(w.kind == "trainingJob" for w in config.workloads.values()):
        job_controllers.append(Controller(versions.JOBSET, controllers.jobset_values(), cluster=cluster, opts=inside))
    if not config.queues:
        return job_controllers, {}
    ready = inside
    if config.controllers.kueue == "chart":
        # Beside JobSet, not after it: Kueue waits for JobSet's API by itself.
        values = controllers.kueue_values(
            fair_sharing=config.shares_fairly,
            metrics=config.controllers.kueue_metrics,
            uncounted=cluster.network_resources,
        )
        kueue = Controller(versions.KUEUE, values, cluster=cluster, opts=inside)
        ready = pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=[kueue]))
    kinds = config.kinds
    teams = team.declare(config.teams, inside)
    needed = [
        *queue.declare_flavors(kinds, namespace, ready),
        *queue.declare_cohorts(config.cohorts, namespace, ready),
    ]
    after = pulumi.ResourceOptions.merge(ready, pulumi.ResourceOptions(depends_on=needed))
    queues = {
        name: Queue(name, args, namespace=namespace, teams=teams, flavors=kinds, opts=after)
        for name, args in config.queues.items()
    }
    _limits(config, kinds, namespace, teams, inside)
    job_controllers += admission.declare(_spaces(config, kinds), inside)
    if config.controllers.kueue_dashboard:
        everywhere = [namespace.plain_name, *(args.namespace or name for name, args in config.teams.items())]
        dashboard.declare(list(config.queues), everywhere, namespace, inside)
    return job_controllers, queues


def _limits(
    config: StackConfig,
    kinds: Mapping[str, Flavor],
    namespace: Namespace,
    teams: Mapping[str, pulumi.Input[str]],
    inside: pulumi.ResourceOptions,
) -> None:
    """The second line of defence: what pods of each namespace may hold, with or without a queue."""
    quotas = {name: quotas_of(args, kinds) for name, args in config.queues.items()}
    unqueued = sum(workload.gpus_beside_queues for workload in config.workloads.values())
    own = team.gpus_at_most(config.queues, quotas, None) + unqueued
    team.limit(namespace.plain_name, namespace.name, own, inside)
    for name, inside_team in teams.items():
        team.limit(name, inside_team, team.gpus_at_most(config.queues, quotas, name), inside)


def _spaces(config: StackConfig, kinds: Mapping[str, Flavor]) -> admission.Spaces:
    """Where only queues give GPUs, and what the settings declare beside them."""
    quotas = {name: quotas_of(args, kinds) for name, args in config.queues.items()}
    return admission.Spaces(
        stack=config.namespace_name,
        teams=[args.namespace or name for name, args in config.teams.items()],
        beside=[name for name, workload in config.workloads.items() if workload.gpus_beside_queues],
        with_gpus=[name for name, found in quotas.items() if any(each.flavor.tolerations for each in found)],
        gpus=team.gpus_at_most(config.queues, quotas, None) > 0,
        only_job_sets=config.controllers.kueue == "chart",
    )


def _outputs(cluster: Cluster, namespace: Namespace, workloads: Mapping[str, Workload]) -> dict[str, Any]:
    machines = cluster.fleet
    fleet_facts = {"gpusMax": machines.gpus_max, "hourlyUsdMax": machines.hourly_usd_max} if machines.groups else {}
    # A secret, as each cloud makes it. A cluster that was there before has its kubeconfig already.
    access = {"kubeconfig": cluster.kubeconfig} if cluster.native is not None else {}
    return {
        **fleet_facts,
        **access,
        "cluster": cluster.args.kind,
        "namespace": namespace.name,
        "gpus": sum(workload.gpus for workload in workloads.values()),
        "workloads": {name: dict(workload.outputs) for name, workload in workloads.items()},
    }
