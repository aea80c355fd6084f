"""Settings and capabilities of backend `fsxLustre`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components.base.model import In, Model, RelativePath
from tensorplane.components.base.value_types import BucketName
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities
from tensorplane.components.volumes.clouds.aws import KmsKey

SMALLEST = 1200


class Repository(Model):
    """An S3 bucket whose objects appear as files. It must be in the cluster's region."""

    bucket: In[BucketName]
    """Name of the existing bucket."""
    prefix: RelativePath | None = None
    """Prefix of the bucket; the whole bucket by default."""
    imports: Annotated[bool, Field(alias="import")] = True
    """Whether new, changed and deleted objects of the bucket appear as files. Their content is read on first access."""
    exports: Annotated[bool, Field(alias="export")] = False
    """Whether new, changed and deleted files are exported to the bucket automatically."""


class FsxLustreSettings(Backend):
    """Settings of backend `fsxLustre`."""

    deployment: Literal["persistent", "scratch"] = "persistent"
    """Deployment type. `persistent` replaces a failed file server and keeps its data; `scratch` costs less and loses
    it."""
    throughput: Literal[125, 250, 500, 1000] | None = None
    """Throughput in MB/s per TiB; 125 by default. Not configurable for `scratch`, which has 200."""
    compression: bool = True
    """Whether files are compressed (LZ4), which saves space and throughput."""
    kms_key: In[KmsKey] | None = None
    """ARN of the KMS key; the AWS-managed key for FSx by default. A change replaces the file system."""
    repository: Repository | None = None
    """A bucket to import and export; none by default."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"eks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany"),
        snapshot="AWS Backup",
        expand=True,
        placement="one zone",
        mount_scope="region",
        encryption="always; `kmsKey`",
        quota="the file system",
        external_access="Lustre with `mount -t lustre`, from the VPC or connected networks",
        min_gib=SMALLEST,
        consistency="crash-consistent",
        throughput_depends_on="size and `throughput`",
    )

    @property
    def backs_up(self) -> bool:
        """Whether FSx supports backups of it: not for `scratch`, and not with a linked bucket."""
        return self.deployment == "persistent" and self.repository is None

    @property
    def may_have_content(self) -> bool:
        return self.repository is not None
