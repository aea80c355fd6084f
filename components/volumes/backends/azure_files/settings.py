"""Settings and capabilities of backend `azureFiles`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components.base.model import In, Model, NonEmptyStr
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import CSI, AccessMode, Capabilities

DRIVER = "file.csi.azure.com"


class FilesKey(Model):
    """A customer-managed key and the identity that uses it."""

    vault: In[NonEmptyStr]
    """URL of the key vault, such as https://research.vault.azure.net. The vault needs purge protection."""
    name: In[NonEmptyStr]
    """Name of the key. Its newest version is used."""
    identity: In[NonEmptyStr]
    """Resource id of a user-assigned identity with the role Key Vault Crypto Service Encryption User."""


class AzureFilesSettings(Backend):
    """Settings of backend `azureFiles`."""

    sku: Literal["Premium_LRS", "Premium_ZRS", "PremiumV2_LRS", "PremiumV2_ZRS"] = "Premium_LRS"
    """Azure's performance and redundancy tier. ZRS survives the loss of a zone. Throughput follows from the size, or is
    configurable (PremiumV2). A change replaces the share."""
    iops: Annotated[int, Field(ge=3000, le=100000)] | None = None
    """IOPS of a PremiumV2 share; derived from the size by default."""
    throughput_mib: Annotated[int, Field(ge=125, le=10340)] | None = None
    """Throughput of a PremiumV2 share in MiB/s; derived from the size by default."""
    encrypted_in_transit: bool = True
    """Whether clients must use TLS. Nodes and other machines mount it with `aznfs`."""
    key: FilesKey | None = None
    """Customer-managed key; a Microsoft-managed key by default."""
    private_dns_zone: In[NonEmptyStr] | None = None
    """Resource id of a private DNS zone privatelink.file.core.windows.net that is linked to the cluster's network; a
    new one by default."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"aks"})
    mirror_copies: ClassVar[bool] = False
    # Snapshots are part of the share. A deleted share can be restored for some days: see file_share.py.
    snapshots_outlive_volume: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        expand=True,
        mount_scope="region",
        encryption="always; `key`",
        quota="the share",
        external_access="NFS over TLS with `mount -t aznfs`, from the VNet or connected networks",
        min_gib=32,
        max_gib=262144,
        consistency="crash-consistent",
        throughput_depends_on="size, or `throughputMib`",
    )

    @property
    def csi_driver(self) -> str | None:
        return DRIVER
