"""Volumes on AKS that are shared: Azure Files over NFS, each share in a storage account of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.azure_files.settings import AzureFilesSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import azure_id

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace

_V2 = "PremiumV2_"
# learn.microsoft.com/azure/storage/files/understanding-billing
_LEAST_V1, _MOST_V1 = 100, 102400


class AzureFiles(AzureFilesSettings):
    """An Azure Files share over NFS 4.1 in the cluster's network. Every AKS cluster has the driver."""

    kind: Literal["azureFiles"] = "azureFiles"

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        if self.private_dns_zone:
            yield from azure_id.find_problems(("backend", "privateDnsZone"), self.private_dns_zone, azure_id.DNS_ZONE)
        if self.key:
            yield from azure_id.find_problems(("backend", "key", "identity"), self.key.identity, azure_id.IDENTITY)
        if self.sku.startswith(_V2):
            return
        for key, value in (("throughputMib", self.throughput_mib), ("iops", self.iops)):
            if value is not None:
                reason = (
                    f"is not configurable for {self.sku}, where it follows from the size; remove it, or set "
                    f"sku PremiumV2_LRS or PremiumV2_ZRS"
                )
                yield Problem(("backend", key), reason, given=(("backend", "sku"),))
        row = self.capabilities
        if not _LEAST_V1 <= args.size_gib <= _MOST_V1 and row.min_gib <= args.size_gib <= (row.max_gib or 0):
            nearest = _LEAST_V1 if args.size_gib < _LEAST_V1 else _MOST_V1
            reason = (
                f"invalid size {args.size_gib:g} for {self.sku}; use {_LEAST_V1} to {_MOST_V1:,} GiB (nearest: "
                f"{nearest:,})"
            )
            yield Problem(("sizeGib",), f"{reason}, or sku PremiumV2_LRS with {row.min_gib:g} to {row.max_gib:,} GiB")

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of Azure is only needed on its own clusters.
        from tensorplane.components.volumes.backends.azure_files import file_share

        return file_share.shared(cluster.native, volumes)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.azure_files import file_share

        return file_share.claim(self, request, opts)
