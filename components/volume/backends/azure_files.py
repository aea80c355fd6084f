"""Volumes on AKS that all nodes share: Azure Files over NFS, a share in a storage account of the volume's own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.cluster import Cluster, ClusterArgs
from components.faults import Fault
from components.model import Filled, Model
from components.namespace import Namespace
from components.volume.backend import Backend, Request
from components.volume.capabilities import CSI, AccessMode, Capabilities
from components.volume.clouds import azure_id

if TYPE_CHECKING:
    from components.volume import VolumeArgs

DRIVER = "file.csi.azure.com"
_V2 = "PremiumV2_"
# learn.microsoft.com/azure/storage/files/understanding-billing
_LEAST_V1, _MOST_V1 = 100, 102400


class FilesKey(Model):
    """A key of yours, by what encrypts with it."""

    vault: Filled
    """Address of the key vault, such as https://research.vault.azure.net. It needs purge protection."""
    name: Filled
    """Name of the key. Its newest version is used."""
    identity: Filled
    """Resource id of a user-assigned identity that may use the key (Key Vault Crypto Service Encryption User)."""


class AzureFiles(Backend):
    """A share of Azure Files, reached over NFS 4.1 in the cluster's network. Every AKS cluster has the driver."""

    kind: Literal["azureFiles"] = "azureFiles"

    sku: Literal["Premium_LRS", "Premium_ZRS", "PremiumV2_LRS", "PremiumV2_ZRS"] = "Premium_LRS"
    """How fast and how safe, as Azure spells it: one of ZRS survives the loss of a zone; speed follows from the size,
    or is yours to set (PremiumV2). A change replaces the share."""
    iops: Annotated[int, Field(ge=3000, le=100000)] | None = None
    """Reads and writes per second of a PremiumV2; by its size where absent."""
    throughput_mib: Annotated[int, Field(ge=125, le=10340)] | None = None
    """MiB per second of a PremiumV2; by its size where absent."""
    encrypted_in_transit: bool = True
    """Whether all traffic is TLS, which the nodes and other machines speak through `aznfs`."""
    key: FilesKey | None = None
    """The key that encrypts it; Azure's own by default."""
    private_dns_zone: Filled | None = None
    """Resource id of a private DNS zone privatelink.file.core.windows.net that the cluster's network is linked with;
    one is made by default."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"aks"})
    mirror_copies: ClassVar[bool] = False
    # They are in the share. It can itself be had back for some time, as it was: see components/aks/file_share.py.
    snapshots_outlive_it: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        expand=True,
        reach="region",
        encryption="always; `key`",
        quota="the share",
        outside="NFS over TLS with `mount -t aznfs`, from the VNet or what is linked with it",
        min_gib=32,
        max_gib=262144,
        consistency="as after a power failure",
        throughput="size, or `throughputMib`",
    )

    @property
    def csi_driver(self) -> str | None:
        return DRIVER

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        if self.private_dns_zone:
            yield from azure_id.faults(("backend", "privateDnsZone"), self.private_dns_zone, azure_id.DNS_ZONE)
        if self.key:
            yield from azure_id.faults(("backend", "key", "identity"), self.key.identity, azure_id.IDENTITY)
        if self.sku.startswith(_V2):
            return
        for key, value in (("throughputMib", self.throughput_mib), ("iops", self.iops)):
            if value is not None:
                reason = (
                    f"given, and that of a {self.sku} follows from its size: need sku PremiumV2_LRS or PremiumV2_ZRS"
                )
                yield Fault(("backend", key), reason, given=(("backend", "sku"),))
        row = self.capabilities
        if not _LEAST_V1 <= args.size_gib <= _MOST_V1 and row.min_gib <= args.size_gib <= (row.max_gib or 0):
            nearest = _LEAST_V1 if args.size_gib < _LEAST_V1 else _MOST_V1
            reason = f"got {args.size_gib:g}, a {self.sku} has {_LEAST_V1} to {_MOST_V1:,} GiB (nearest: {nearest:,})"
            yield Fault(("sizeGib",), f"{reason}, and PremiumV2_LRS {row.min_gib:g} to {row.max_gib:,} GiB")

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of Azure.
        from components.aks import file_share

        return file_share.shared(cluster.native, volumes)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.aks import file_share

        return file_share.claim(self, request, opts)
