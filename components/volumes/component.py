"""One volume: its claim, its access policy, and its scheduled snapshots."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base import encrypted, outputs
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.volumes import access, source
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.components.volumes.snapshots import snapshot_schedule
from tensorplane.components.volumes.snapshots.snapshotter import Snapshotter


@dataclass(frozen=True)
class Hooks:
    """What Pulumi runs before it changes a claim. All volumes of a stack share them."""

    before_creation: pulumi.ResourceHook
    before_update: pulumi.ResourceHook
    before_deletion: pulumi.ResourceHook


class Volume(pulumi.ComponentResource):
    """A volume that workloads mount by its claim.

    With `retain`, removing it from the settings and `pulumi destroy` are refused before anything changes (with
    `--run-program --exclude-protected`, the rest is deleted), and even an unprotected object stays in the cluster.
    Without it, a snapshot is taken before the volume is deleted, if its driver's snapshots outlive the volume.
    `datasets`: the folder of each dataset on it, which previews read.
    """

    def __init__(
        self,
        name: str,
        args: VolumeArgs,
        *,
        cluster: Cluster,
        namespace: Namespace,
        hooks: Hooks,
        installed: Sequence[pulumi.Resource] = (),
        origin: "Volume | None" = None,
        snapshotter: Snapshotter | None = None,
        origins: Collection[str] = (),
        mounted_by: Sequence[str] = (),
        datasets: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        backend = args.backend_on(cluster.args)
        modes = args.access_modes or list(backend.access_modes)
        props = outputs.Volume(sizeGib=args.size_gib, backend=backend.kind, accessModes=modes, retain=args.retain)
        if datasets:
            props["datasets"] = datasets
        super().__init__(outputs.VOLUME, name, dict(props), opts)
        copied = bool(args.mirror and args.mirror.to.by_volsync and backend.mirror_class)
        request = Request(name, namespace, args, cluster, modes, installed, _data_source(args, origin), copied)
        keep = pulumi.ResourceOptions(parent=self, protect=args.retain, retain_on_delete=args.retain)
        keep.hooks = pulumi.ResourceHookBinding(
            before_create=[hooks.before_creation] if args.is_rebound else None,
            before_update=[hooks.before_update],
            before_delete=[hooks.before_deletion] if args.saved_before_deletion(cluster.args) else None,
        )
        self.claim = backend.provision(request, keep)
        self.size_gib = args.size_gib
        self.claim_name = name
        """Name of the claim in the stack's namespace."""
        if args.readers is not None or args.writers is not None:
            # A child of the volume: workloads that depend on the volume are created after the policy.
            access.policy(name, args, also=mounted_by, namespace=namespace, opts=pulumi.ResourceOptions(parent=self))
        snapshots_by = args.scheduled_class(cluster.args)
        if args.snapshots and snapshots_by and snapshotter and not args.snapshots.group:
            snapshot_schedule.cron_job(
                name,
                snapshots_by,
                args.snapshots,
                claims=[self.claim],
                snapshotter=snapshotter,
                origins=origins,
                opts=pulumi.ResourceOptions(parent=self),
            )
        made = outputs.VolumeOutputs(claimName=self.claim.metadata["name"], sizeGib=args.size_gib, retain=args.retain)
        self.register_outputs(encrypted.concealed(dict(made)))


def _data_source(args: VolumeArgs, origin: Volume | None) -> "k8s.core.v1.TypedLocalObjectReferenceArgsDict | None":
    if origin is not None:
        return source.cloned(origin.claim.metadata["name"])
    return source.restored(args.source.snapshot) if args.source and args.source.snapshot else None
