"""Settings and capabilities of backend `filestore`."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from tensorplane.components.base.model import In, NonEmptyStr
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import CSI, AccessMode, Capabilities

DRIVER = "filestore.csi.storage.gke.io"
Tier = Literal["basicHdd", "basicSsd", "zonal", "regional"]


class FilestoreSettings(Backend):
    """Settings of backend `filestore`."""

    tier: Tier = "zonal"
    """Service tier. `zonal` is fast, `regional` also survives the loss of a zone, the basic tiers cost less."""
    network: In[NonEmptyStr] | None = None
    """Name of the VPC network; the cluster's own by default. Required if the cluster uses an existing network."""
    connection: Literal["directPeering", "privateServiceAccess"] = "directPeering"
    """Connection mode. Use `privateServiceAccess` in a Shared VPC, or if the network already has it."""
    kms_key: In[NonEmptyStr] | None = None
    """Cloud KMS key (projects/…/cryptoKeys/…), with tiers zonal and regional; a Google-managed key by default."""
    mirror_kms_key: In[NonEmptyStr] | None = None
    """Cloud KMS key of the mirror, in its region. Required if `kmsKey` and a mirror are set."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    # A restored backup is a new instance of at least 1 TiB.
    mirror_copies: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        mirror={"region": "Filestore replication"},
        expand=True,
        placement="zones",
        mount_scope="region",
        encryption="always; `kmsKey`",
        quota="the server",
        external_access="NFS, from the VPC or connected networks",
        min_gib=1024,
        max_gib=102400,
        consistency="crash-consistent",
        throughput_depends_on="tier and size",
    )

    @property
    def csi_driver(self) -> str | None:
        return DRIVER

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        return {"type": "backup"}
