"""Settings and capabilities of backend `s3`."""

from typing import Annotated, ClassVar

from pydantic import Field

from tensorplane.components.base.model import In, NonEmptyStr, RelativePath
from tensorplane.components.base.value_types import BucketName
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities
from tensorplane.components.volumes.clouds.aws import KmsKey


class S3Settings(Backend):
    """Settings of backend `s3`."""

    bucket: In[BucketName] | None = None
    """Name of an existing bucket. By default a new one: versioned, encrypted, private, TLS only."""
    prefix: RelativePath | None = None
    """Prefix of the bucket that pods see; the whole bucket by default."""
    region: NonEmptyStr | None = None
    """Region of an existing bucket; the cluster's by default."""
    kms_key: In[KmsKey] | None = None
    """ARN of the KMS key that encrypts the bucket; S3-managed keys by default."""
    mirror_kms_key: In[KmsKey] | None = None
    """ARN of the mirror's KMS key, in its region. Required if `kmsKey` and a mirror are set."""
    keep_replaced_days: Annotated[int, Field(ge=1, le=36500)] | None = None
    """Days to keep deleted and overwritten objects of a new bucket; forever by default."""
    cache_class: In[NonEmptyStr] | None = None
    """StorageClass of the disks for `cache`, one per node; by default the node's own disk."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"eks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteMany", "ReadOnlyMany"),
        mirror={"region": "S3 replication"},
        expand=True,
        rename=False,
        hard_links=False,
        mount_scope="region",
        encryption="always; `kmsKey`",
        cache="the node's disk, or one of `cacheClass`",
        external_access="the API of S3",
        throughput_depends_on="number of concurrent readers",
    )

    @property
    def may_have_content(self) -> bool:
        return self.bucket is not None
