"""Volumes on GKE that are shared: Filestore, an NFS server for each volume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from tensorplane.components.base.labels import GKE_ZONE
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import storage_class_per_volume, zones
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.filestore.settings import DRIVER, FilestoreSettings, Tier
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import copy_name, google

# The driver's name of the tier, and its minimum and maximum in GiB (Filestore, "Service tiers").
_TIERS: Mapping[Tier, tuple[str, int, int]] = {
    "basicHdd": ("standard", 1024, 65433),
    "basicSsd": ("premium", 2560, 65433),
    "zonal": ("zonal", 1024, 102400),
    "regional": ("regional", 1024, 102400),
}
_NEWER: tuple[Tier, ...] = ("zonal", "regional")
"""Tiers that support customer-managed keys and replication (Filestore, "Service tiers")."""
_SMALL_STEP, _LARGE, _LARGE_STEP = 256, 10240, 2560
"""Size steps in GiB, and the size from which the larger step applies."""


class Filestore(FilestoreSettings):
    """A Filestore instance, in the cluster's network. Every GKE cluster that tensorplane creates has the driver."""

    kind: Literal["filestore"] = "filestore"

    def makes(self, name: str, args: VolumeSettings) -> Iterator[tuple[str, str]]:
        if args.mirror and args.mirror.to.region:
            yield from copy_name.both("server", name, args)

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster)
        _, least, most = _TIERS[self.tier]
        known = self.capabilities.min_gib <= args.size_gib <= (self.capabilities.max_gib or 0)
        if known and not least <= args.size_gib <= most:
            limit = f"at least {least:,}" if args.size_gib < least else f"at most {most:,}"
            reason = f"invalid size {args.size_gib:g} for Filestore tier {self.tier}; use {limit} GiB"
            yield Problem(("sizeGib",), reason, given=(("backend", "tier"),))
        if cluster.existing_network and self.network is None:
            reason = "missing, but the cluster uses an existing network; set the VPC network for Filestore"
            yield Problem(("backend", "network"), reason)
        if self.tier in _NEWER:
            yield from self._step(args)
            yield from google.mirror_problems(args, cluster, key=self.kms_key, copy_key=self.mirror_kms_key)
        elif self.kms_key:
            reason = f"is not supported by tier {self.tier}; set tier {' or '.join(_NEWER)}"
            yield Problem(("backend", "kmsKey"), reason, given=(("backend", "tier"),))
        if args.mirror and args.mirror.to.region:
            yield from self._mirror(args, cluster)

    def _step(self, args: VolumeSettings) -> Iterator[Problem]:
        size = args.size_gib
        step = _SMALL_STEP if size < _LARGE else _LARGE_STEP
        if size >= self.capabilities.min_gib and size % step:
            below = int(size // step) * step
            above = min(below + step, _LARGE) if size < _LARGE else below + step
            reason = (
                f"{size:g} is not a multiple of {step:,} GiB, as tier {self.tier} requires; use {below:,} or {above:,}"
            )
            yield Problem(("sizeGib",), reason, given=(("backend", "tier"),))

    def _mirror(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        mirror = args.mirror
        if self.tier not in _NEWER:
            reason = f"is not supported by tier {self.tier}; set tier {' or '.join(_NEWER)}"
            yield Problem(("mirror",), reason, given=(("backend", "tier"),))
        if mirror and mirror.every:
            yield Problem(("mirror", "every"), f"is {mirror.every}, but Filestore replicates continuously; remove it")
        if args.source:
            reason = (
                "conflicts with mirror, because a mirrored Filestore starts empty; restore into a volume "
                "without mirror, and copy"
            )
            yield Problem(("from",), reason, given=(("mirror",),))
        if self.tier == "zonal" and args.placement is None and not cluster.node_zones:
            yield Problem(("placement",), "missing, but a mirrored Filestore is in one zone; set that zone")
        if args.placement and len(args.placement.zones) > 1:
            yield Problem(
                ("placement", "zones"),
                f"lists {len(args.placement.zones)} zones, but a mirrored Filestore uses 1; list 1",
            )

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        if request.args.mirror and request.args.mirror.to.region:
            # Imported here, because the SDK of Google Cloud is only needed on its own clusters.
            from tensorplane.components.volumes.backends.filestore import file_server

            return file_server.claim(self, request, opts)
        cluster = request.cluster.args
        parameters: dict[str, pulumi.Input[str]] = {"tier": _TIERS[self.tier][0]}
        if network := self.network or cluster.cluster_name:
            parameters["network"] = as_input(network)
        if self.connection == "privateServiceAccess":
            parameters["connect-mode"] = "PRIVATE_SERVICE_ACCESS"
        if self.kms_key:
            parameters["instance-encryption-kms-key"] = as_input(self.kms_key)
        return storage_class_per_volume.claim(
            request, opts, provisioner=DRIVER, parameters=parameters, zone_key=GKE_ZONE
        )
