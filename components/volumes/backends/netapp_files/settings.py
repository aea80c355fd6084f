"""Settings and capabilities of backend `netappFiles`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components.base.model import In, NonEmptyStr
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities


class NetappFilesSettings(Backend):
    """Settings of backend `netappFiles`."""

    service_level: Literal["standard", "premium", "ultra"] = "premium"
    """Service level: 16, 64 or 128 MiB/s per TiB. A change replaces the volume."""
    version: Literal["3", "4.1"] = "4.1"
    """NFS version. A change replaces the volume."""
    pool_tib: Annotated[int, Field(ge=1, le=2048)] | None = None
    """Size in TiB of the capacity pool that all volumes of this service level share. Required, and the same in each, if
    there are several. Reduce it in a deployment after the one that deletes a volume."""
    subnet: In[NonEmptyStr] | None = None
    """Resource id of a subnet that is delegated to Microsoft.NetApp/volumes. Required if the nodes use an existing
    subnet; a new subnet otherwise. A VNet has one such subnet."""
    allowed_cidrs: Annotated[tuple[In[NonEmptyStr], ...], Field(max_length=5)] = ()
    """Addresses that may mount the volume: those of machines outside the cluster, and those of the nodes if they use an
    existing subnet. Nodes in a new VNet are always allowed."""
    mirror_subnet: In[NonEmptyStr] | None = None
    """Resource id of a subnet in the mirror's region that is delegated to Microsoft.NetApp/volumes."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot="snapshot policy",
        clone="snapshot",
        mirror={"region": "cross-region replication"},
        expand=True,
        placement="one zone",
        mount_scope="region",
        encryption="always",
        quota="the volume",
        external_access="NFS, from `allowedCidrs` in the VNet or connected networks",
        min_gib=50,
        max_gib=102400,
        consistency="crash-consistent",
        throughput_depends_on="`serviceLevel` and size",
    )

    @property
    def same_in_copies(self) -> tuple[object, ...]:
        return self.kind, self.service_level, self.version, self.subnet
