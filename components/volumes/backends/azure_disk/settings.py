"""Settings and capabilities of backend `azureDisk`."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components.base.model import NonEmptyStr
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import CSI, Capabilities

DRIVER = "disk.csi.azure.com"
V2 = "PremiumV2_LRS"
IOPS_WITHOUT_A_FEE = 3000
_EVERY_ZONE = "_ZRS"


class AzureDiskSettings(Backend):
    """Settings of backend `azureDisk`."""

    sku: Literal["Premium_LRS", "Premium_ZRS", "PremiumV2_LRS", "StandardSSD_LRS", "StandardSSD_ZRS"] = "Premium_LRS"
    """Azure's disk type and redundancy. ZRS disks can be mounted in every zone. PremiumV2_LRS is zonal and has
    configurable throughput."""
    iops: Annotated[int, Field(ge=3000, le=80000)] | None = None
    """IOPS of a PremiumV2_LRS disk, at most 500 per GiB; 3000 by default, which are free."""
    throughput_mib: Annotated[int, Field(ge=125, le=1200)] | None = None
    """Throughput of a PremiumV2_LRS disk in MB/s, at most a quarter of `iops`; 125 by default, which are free."""
    encryption_set: NonEmptyStr | None = None
    """Resource id of a disk encryption set with a customer-managed key; a platform-managed key by default."""

    clusters: ClassVar[frozenset[str] | None] = frozenset({"aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce",),
        snapshot=CSI,
        clone=CSI,
        expand=True,
        placement="zones",
        mount_scope="zone",
        encryption="always; `encryptionSet`",
        quota="the disk",
        min_gib=1,
        max_gib=65536,
        consistency="crash-consistent",
        throughput_depends_on="type and size, or `throughputMib`",
    )

    @property
    def csi_driver(self) -> str | None:
        return DRIVER

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        return {"incremental": "true"}

    def in_one_zone(self, cluster: ClusterArgs) -> bool:
        return not self.sku.endswith(_EVERY_ZONE)
