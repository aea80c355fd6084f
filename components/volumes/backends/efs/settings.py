"""Settings and capabilities of backend `efs`."""

from typing import ClassVar

from tensorplane.components.base.model import In
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities
from tensorplane.components.volumes.clouds.aws import KmsKey


class EfsSettings(Backend):
    """Settings of backend `efs`."""

    kms_key: In[KmsKey] | None = None
    """ARN of the KMS key; the AWS-managed key for EFS by default. A change replaces the file system."""
    mirror_kms_key: In[KmsKey] | None = None
    """ARN of the mirror's KMS key, in its region. Required if `kmsKey` and a mirror are set."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"eks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot="AWS Backup",
        mirror={"region": "EFS replication"},
        expand=True,
        placement="one zone",
        mount_scope="region",
        encryption="always; `kmsKey`",
        external_access="NFS over TLS with `mount -t efs`, from the VPC or connected networks",
        consistency="not point-in-time",
        throughput_depends_on="elastic",
    )
