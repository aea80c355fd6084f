"""All volumes of a stack, and what they share: drivers, snapshot schedules, mirrors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import pulumi

from tensorplane.components.volumes import immutable, rebind
from tensorplane.components.volumes.component import Hooks, Volume
from tensorplane.components.volumes.mirrors import ceph, volsync, volsync_component
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.components.volumes.snapshots import before_delete, snapshot_group, snapshot_schedule
from tensorplane.components.volumes.snapshots.snapshotter import Snapshotter

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace


def volumes_of(
    declared: Mapping[str, VolumeArgs],
    *,
    cluster: Cluster,
    namespace: Namespace,
    movers: Sequence[pulumi.Resource] = (),
    datasets: Mapping[str, Mapping[str, str]],
    opts: pulumi.ResourceOptions,
) -> dict[str, Volume]:
    """Creates the volumes of a stack and what they share. A clone is created after its origin.

    `movers`: what mirrors depend on, which is VolSync if the stack installs it. `datasets`: folders by volume and name.
    """
    classes = {kind for args in declared.values() if (kind := args.scheduled_class(cluster.args))}
    shared = Snapshotter(classes, cluster=cluster, namespace=namespace, opts=opts) if classes else None
    kinds = {(backend := args.backend_on(cluster.args)).kind: backend for args in declared.values()}
    by_kind = {
        kind: kinds[kind].install(
            cluster,
            namespace,
            {name: args for name, args in declared.items() if args.backend_on(cluster.args).kind == kind},
        )
        for kind in sorted(kinds)
    }
    hooks = Hooks(rebind.hook(cluster), immutable.hook(), before_delete.hook(cluster))
    origins = _snapshots_in_use(declared)
    made: dict[str, Volume] = {}

    def make(name: str) -> Volume:
        if name not in made:
            args = declared[name]
            origin = make(args.source.volume) if args.source and args.source.volume else None
            made[name] = Volume(
                name,
                args,
                cluster=cluster,
                namespace=namespace,
                hooks=hooks,
                installed=by_kind[args.backend_on(cluster.args).kind],
                origin=origin,
                snapshotter=shared,
                origins=origins,
                mounted_by=(volsync_component.ACCOUNT,) if volsync.takes_part(name, declared) else (),
                datasets=datasets.get(name),
                opts=opts,
            )
        return made[name]

    volumes = {name: make(name) for name in declared}
    if shared:
        _group_schedules(declared, volumes, cluster, shared, origins, opts)
    backends = {name: args.backend_on(cluster.args) for name, args in declared.items()}
    volsync_component.mirrors(declared, volumes, backends, namespace=namespace, depends_on=movers, opts=opts)
    ceph.mirrors(declared, volumes, namespace=namespace, opts=opts)
    return volumes


def _snapshots_in_use(declared: Mapping[str, VolumeArgs]) -> frozenset[str]:
    """Snapshots that volumes are restored from, which no schedule may delete."""
    return frozenset(args.source.snapshot for args in declared.values() if args.source and args.source.snapshot)


def _group_schedules(
    declared: Mapping[str, VolumeArgs],
    volumes: Mapping[str, Volume],
    cluster: Cluster,
    snapshotter: Snapshotter,
    origins: Collection[str],
    opts: pulumi.ResourceOptions,
) -> None:
    """One CronJob for each group of volumes whose snapshots are taken at the same instant."""
    for group, members in snapshot_group.groups(declared).items():
        args = declared[members[0]]
        if args.snapshots and (kind := args.scheduled_class(cluster.args)):
            snapshot_schedule.cron_job(
                group,
                kind,
                args.snapshots,
                claims=[volumes[name].claim for name in members],
                snapshotter=snapshotter,
                origins=origins,
                opts=opts,
            )
