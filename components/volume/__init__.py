"""Volumes: named storage that workloads mount, outliving them; the backend is chosen by kind."""

from collections.abc import Mapping, Sequence
from typing import Annotated, cast

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.cluster import Cluster, ClusterArgs
from components.family import load_family
from components.model import Filled, Model
from components.namespace import Namespace
from components.stream import StreamArgs
from components.volume import (
    access,
    backends,
    before_change,
    ceph_mirror,
    snapshot_group,
    snapshot_schedule,
    source,
    volsync,
)
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode
from components.volume.mirror import MirrorArgs
from components.volume.mount_path import MountPath
from components.volume.snapshot_class import SnapshotClass
from components.volume.snapshot_schedule import SnapshotsArgs
from components.volume.snapshotter import Snapshotter
from components.volume.source import Source

load_family(f"{__name__}.backends", backends.__path__)


class PlacementArgs(Model):
    """Where a volume is. Pods that mount it go where it can be reached."""

    zones: Annotated[tuple[Filled, ...], Field(min_length=1)]
    """Zones, one of which it is made in."""


class CacheArgs(Model):
    """What is read again comes from near the pod."""

    size_gib: Annotated[float, Field(gt=0, le=65536)]
    """GiB on the node, or wherever the backend keeps it."""


class VolumeArgs(Model):
    """Settings of one volume."""

    size_gib: Annotated[float, Field(gt=0, le=1048576)]
    """Size in GiB."""
    backend: Backend | None = None
    """What stores it. The cluster's usual one by default: `embedded` there, a StorageClass elsewhere."""
    access_modes: Annotated[list[AccessMode], Field(min_length=1)] | None = None
    """How pods may mount it; by default ReadWriteMany, on disks and a `storageClass` ReadWriteOnce: all on one node."""
    source: Annotated[Source | None, Field(alias="from")] = None
    """What it begins with: a snapshot, another volume, or what a mirror has of one. Empty by default."""
    snapshots: SnapshotsArgs | None = None
    """Snapshots on a schedule; none by default."""
    mirror: MirrorArgs | None = None
    """A copy elsewhere that follows by itself; none by default."""
    placement: PlacementArgs | None = None
    """Where it is; by default the first pod that mounts it decides, or the backend."""
    path: MountPath | None = None
    """Where training pods see it, the same in each of them; by default each job says where."""
    readers: tuple[access.Member, ...] | None = None
    """Workloads, other service accounts, and groups of users (`group:NAME`) that may mount it read-only. Everybody may
    do everything where neither this nor `writers` is given."""
    writers: tuple[access.Member, ...] | None = None
    """Those that may read and write. Nobody where `readers` alone is given."""
    quota: bool = False
    """Refuse a backend that lets the volume take more than its size."""
    stream: StreamArgs | None = None
    """Topics of a Kafka that belong to it, for records as they come; none by default."""
    cache: CacheArgs | None = None
    """A cache of what is read, near the pods that read it; none by default."""
    encrypted: bool = False
    """Refuse a backend that is not known to encrypt at rest. Those of clouds do, whether this is set or not."""
    retain: bool = True
    """Refuse to delete the volume. Set it to false, and deploy that, before removing a volume and its data."""

    def backend_on(self, cluster: ClusterArgs) -> Backend:
        """The backend in use on this cluster."""
        return self.backend or cast(Backend, Backend.variants[cluster.volume_backend]())

    def for_one_node(self, cluster: ClusterArgs) -> bool:
        """Whether only the pods of one node can mount it."""
        return set(self.access_modes or self.backend_on(cluster).access_modes) == {"ReadWriteOnce"}

    def scheduled_class(self, cluster: ClusterArgs) -> SnapshotClass | None:
        """The class of its CSI snapshots on a schedule; None where nobody asks for them."""
        if self.snapshots is None:
            return None
        backend = self.backend_on(cluster)
        return backend.group_class if self.snapshots.group else backend.snapshot_class

    @property
    def labels(self) -> dict[str, str]:
        """What its claim says beside its name."""
        group = self.snapshots.group if self.snapshots else None
        return {snapshot_group.LABEL: group} if group else {}

    def saved_before_deletion(self, cluster: ClusterArgs) -> bool:
        """Whether a snapshot is taken before the volume is deleted. One that is retained is not."""
        backend = self.backend_on(cluster)
        return not self.retain and backend.snapshots_outlive_it and backend.snapshot_class is not None


class Volume(pulumi.ComponentResource):
    """A volume that workloads mount by its claim.

    With `retain`, removing it from the settings and `pulumi destroy` are refused before anything changes (with
    `--run-program --exclude-protected`, the rest is deleted), and even an unprotected object stays in the cluster.
    Without it, a snapshot is taken before the volume is deleted, where its driver takes such as outlive it.
    """

    def __init__(
        self,
        name: str,
        args: VolumeArgs,
        *,
        cluster: Cluster,
        namespace: Namespace,
        before_deletion: pulumi.ResourceHook,
        installed: Sequence[pulumi.Resource] = (),
        origin: "Volume | None" = None,
        snapshotter: Snapshotter | None = None,
        moved: bool = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        backend = args.backend_on(cluster.args)
        modes = args.access_modes or list(backend.access_modes)
        props = {"sizeGib": args.size_gib, "backend": backend.kind, "accessModes": modes, "retain": args.retain}
        super().__init__("tensorplane:index:Volume", name, props, opts)
        copied = bool(args.mirror and args.mirror.to.by_volsync and volsync.copies(backend))
        request = Request(name, namespace, args, cluster, modes, installed, _begins_as(args, origin), copied)
        keep = pulumi.ResourceOptions(parent=self, protect=args.retain, retain_on_delete=args.retain)
        if args.saved_before_deletion(cluster.args):
            keep.hooks = pulumi.ResourceHookBinding(before_delete=[before_deletion])
        self.claim = backend.provision(request, keep)
        self.path = args.path
        self.claim_name = name
        """Name of the claim in the stack's namespace."""
        self.marks = backend.marks
        """What pods that mount it say of themselves."""
        self.one_node = args.for_one_node(cluster.args)
        """Whether only the pods of one node can mount it."""
        if args.readers is not None or args.writers is not None:
            # A child of the volume, so that what mounts it comes after.
            also = (volsync.ACCOUNT,) if moved else ()
            access.policy(name, args, also=also, namespace=namespace, opts=pulumi.ResourceOptions(parent=self))
        snapshots_by = args.scheduled_class(cluster.args)
        if args.snapshots and snapshots_by and snapshotter and not args.snapshots.group:
            snapshot_schedule.cron_job(
                name,
                snapshots_by,
                args.snapshots,
                claims=[self.claim],
                namespace=namespace,
                snapshotter=snapshotter,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({"claimName": self.claim.metadata["name"], "sizeGib": args.size_gib})


def _begins_as(args: VolumeArgs, origin: Volume | None) -> "k8s.core.v1.TypedLocalObjectReferenceArgsDict | None":
    if origin is not None:
        return source.cloned(origin.claim.metadata["name"])
    return source.restored(args.source.snapshot) if args.source and args.source.snapshot else None


def volumes_of(
    declared: Mapping[str, VolumeArgs],
    *,
    cluster: Cluster,
    namespace: Namespace,
    movers: Sequence[pulumi.Resource] = (),
    opts: pulumi.ResourceOptions,
) -> dict[str, Volume]:
    """The volumes of a stack, and what they share. One that begins as another comes after it.

    `movers` is what mirrors wait for: VolSync, where it is installed with the stack.
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
    before_deletion = before_change.hook(cluster)
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
                before_deletion=before_deletion,
                installed=by_kind[args.backend_on(cluster.args).kind],
                origin=origin,
                snapshotter=shared,
                moved=volsync.takes_part(name, declared),
                opts=opts,
            )
        return made[name]

    volumes = {name: make(name) for name in declared}
    if shared:
        _group_schedules(declared, volumes, cluster, namespace, shared, opts)
    backends = {name: args.backend_on(cluster.args) for name, args in declared.items()}
    volsync.mirrors(declared, volumes, backends, namespace=namespace, needed=movers, opts=opts)
    ceph_mirror.mirrors(declared, volumes, namespace=namespace, opts=opts)
    return volumes


def _group_schedules(
    declared: Mapping[str, VolumeArgs],
    volumes: Mapping[str, Volume],
    cluster: Cluster,
    namespace: Namespace,
    snapshotter: Snapshotter,
    opts: pulumi.ResourceOptions,
) -> None:
    """One CronJob for each group of volumes whose snapshots are of one instant."""
    for group, members in snapshot_group.groups(declared).items():
        args = declared[members[0]]
        if args.snapshots and (kind := args.scheduled_class(cluster.args)):
            snapshot_schedule.cron_job(
                group,
                kind,
                args.snapshots,
                claims=[volumes[name].claim for name in members],
                namespace=namespace,
                snapshotter=snapshotter,
                opts=opts,
            )
