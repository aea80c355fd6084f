"""Volumes on AKS that are managed disks, each ReadWriteOnce, in one zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import zones
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.azure_disk.settings import IOPS_WITHOUT_A_FEE, V2, AzureDiskSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import azure_id

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace

# learn.microsoft.com/azure/virtual-machines/disks-types
_LARGEST_V1 = 32767
_IOPS_PER_GIB = 500
_MIB_PER_IOPS = 0.25


class AzureDisk(AzureDiskSettings):
    """An Azure managed disk. Every AKS cluster has the driver, and the disks are always encrypted."""

    kind: Literal["azureDisk"] = "azureDisk"

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster)
        if self.encryption_set:
            yield from azure_id.find_problems(
                ("backend", "encryptionSet"), self.encryption_set, azure_id.DISK_ENCRYPTION_SET
            )
        yield from self._performance(args) if self.sku == V2 else self._of_its_size(args)

    def _performance(self, args: VolumeSettings) -> Iterator[Problem]:
        iops, most = self.iops or IOPS_WITHOUT_A_FEE, max(IOPS_WITHOUT_A_FEE, _IOPS_PER_GIB * args.size_gib)
        if iops > most:
            yield Problem(
                ("backend", "iops"), f"{iops} exceeds the limit for {args.size_gib:g} GiB; set {most:g} or less"
            )
        if (self.throughput_mib or 0) > iops * _MIB_PER_IOPS:
            reason = f"{self.throughput_mib} exceeds the limit for {iops} IOPS; set {iops * _MIB_PER_IOPS:g} or less"
            yield Problem(("backend", "throughputMib"), reason)

    def _of_its_size(self, args: VolumeSettings) -> Iterator[Problem]:
        for key, value in (("throughputMib", self.throughput_mib), ("iops", self.iops)):
            if value is not None:
                reason = (
                    f"is not configurable for {self.sku}, where it follows from the size; remove it, or set sku {V2}"
                )
                yield Problem(("backend", key), reason, given=(("backend", "sku"),))
        if _LARGEST_V1 < args.size_gib <= (self.capabilities.max_gib or 0):
            reason = (
                f"{args.size_gib:g} GiB exceeds the largest {self.sku} disk; set {_LARGEST_V1:,} or less, or sku {V2}"
            )
            yield Problem(("sizeGib",), reason, given=(("backend", "sku"),))

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of Azure is only needed on its own clusters.
        from tensorplane.components.volumes.backends.azure_disk import disks

        return disks.group(cluster, volumes)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.azure_disk import disks

        return disks.claim(self, request, opts)
