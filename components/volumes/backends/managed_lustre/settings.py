"""Settings and capabilities of backend `managedLustre`."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from tensorplane.components.base.model import In, NonEmptyStr
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities

MegabytesPerTib = Literal[125, 250, 500, 1000]
STEPS: Mapping[MegabytesPerTib, int] = {1000: 9_000, 500: 18_000, 250: 36_000, 125: 72_000}
"""Size steps in GiB (Managed Lustre, "Performance tiers"), up to more than any volume can have."""


class ManagedLustreSettings(Backend):
    """Settings of backend `managedLustre`."""

    mbps_per_tib: MegabytesPerTib = 1000
    """Throughput in MB/s per TiB. Lower values cost less and have larger size steps."""
    network: In[NonEmptyStr] | None = None
    """VPC network (projects/…/global/networks/…); the cluster's own by default. Required if the cluster uses an
    existing network, which then needs private services access and a firewall rule that allows TCP 988 from there."""
    kms_key: In[NonEmptyStr] | None = None
    """Cloud KMS key (projects/…/cryptoKeys/…) that the Lustre service agent may use; a Google-managed key by default.
    """

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        expand=True,
        placement="one zone",
        mount_scope="zone",
        encryption="always; `kmsKey`",
        quota="the file system",
        external_access="Lustre's client, from the VPC",
        min_gib=STEPS[1000],
        throughput_depends_on="`mbpsPerTib` and size",
    )
