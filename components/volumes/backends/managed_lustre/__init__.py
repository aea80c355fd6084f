"""Volumes on GKE with high parallel throughput: Managed Lustre, in one zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import zones
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.managed_lustre.settings import STEPS, ManagedLustreSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import google

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace


class ManagedLustre(ManagedLustreSettings):
    """A Google Cloud Managed Lustre file system, shared by all nodes of its zone, in the cluster's network."""

    kind: Literal["managedLustre"] = "managedLustre"

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster, at_most=1)
        if args.placement is None:
            have = f", such as {usual[0]}" if (usual := cluster.node_zones) else ""
            yield Problem(
                ("placement",),
                f"missing, but Managed Lustre is in one zone; set the zone of the nodes that read it{have}",
            )
        step, size = STEPS[self.mbps_per_tib], args.size_gib
        if size >= self.capabilities.min_gib and size % step:
            below = int(size // step) * step
            near = " or ".join(f"{gib:,}" for gib in (below, below + step) if gib)
            reason = (
                f"{size:g} is not a multiple of {step:,} GiB, as {self.mbps_per_tib} MBps per TiB requires; use {near}"
            )
            yield Problem(("sizeGib",), reason, given=(("backend", "mbpsPerTib"),))
        if not cluster.mounts_lustre:
            reason = "managedLustre requires a driver on the nodes; set cluster.lustre: true"
            yield Problem(("backend",), reason, given=(("cluster", "lustre"),))
        if self.kms_key and cluster.catalog_region:
            yield from google.key_problems(self.kms_key, "kmsKey", cluster.catalog_region)
        if cluster.existing_network and self.network is None:
            reason = "missing, but the cluster uses an existing network; set projects/PROJECT/global/networks/NAME"
            yield Problem(("backend", "network"), reason)

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of Google Cloud is only needed on its own clusters.
        from tensorplane.components.volumes.backends.managed_lustre import lustre

        return lustre.connect(cluster)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.managed_lustre import lustre

        return lustre.claim(self, request, opts)
