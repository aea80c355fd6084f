"""Volumes on EKS that are buckets: S3 through Mountpoint, for reading much and writing whole files once."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.cluster import Cluster, ClusterArgs
from components.cluster.eks import Eks
from components.faults import Fault
from components.model import Filled, RelativePath
from components.namespace import Namespace
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities
from components.volume.clouds import aws_region, bucket_rights, copy_name, kms_key
from components.volume.clouds.bucket_name import BucketName
from components.volume.clouds.kms_key import KmsKey

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_LIKE_A_NEW_ONE = "b" * 48
"""A bucket's name as long as the longest that is made here: see components/eks/short_name.py."""
IN_TIME = "15m"
"""What S3 keeps a mirror to, where one asks for it: its Replication Time Control."""


class S3(Backend):
    """A bucket as files, by Mountpoint for S3. A file is written once, from its beginning to its end; nothing is
    renamed, nothing is appended to. So it holds data sets and finished models, and no checkpoints."""

    kind: Literal["s3"] = "s3"

    bucket: BucketName | None = None
    """A bucket that is there already. By default a new one: versioned, encrypted, closed to the public, TLS only."""
    prefix: RelativePath | None = None
    """Folder of the bucket that pods see; all of it by default."""
    region: Filled | None = None
    """Region of a bucket that is there already; the cluster's by default."""
    kms_key: KmsKey | None = None
    """ARN of the KMS key that the bucket encrypts with; S3's own keys by default."""
    mirror_kms_key: KmsKey | None = None
    """ARN of the KMS key of the mirror, in its region. Needed where a volume with `kmsKey` has a mirror."""
    keep_replaced_days: Annotated[int, Field(ge=1, le=36500)] | None = None
    """Days for which a new bucket keeps what was deleted or written over; for ever by default."""
    cache_class: Filled | None = None
    """StorageClass of the disks that hold `cache`, one for each node; by default the node's own disk does."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"eks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteMany", "ReadOnlyMany"),
        mirror={"region": "S3 replication"},
        expand=True,
        rename=False,
        reach="region",
        encryption="always; `kmsKey`",
        cache="the node's disk, or one of `cacheClass`",
        outside="the API of S3",
        throughput="how many read at once",
    )

    def makes(self, name: str, args: "VolumeArgs") -> Iterator[tuple[str, str]]:
        if self.bucket is None:
            yield from copy_name.both("bucket", name, args)

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from self._bucket(args)
        if isinstance(cluster, Eks):
            yield from aws_region.of_mirror(args, cluster)
            yield from self._keys(args, cluster)
        if self.cache_class and not args.cache:
            reason = "given without `cache`, whose disks it is about: set cache.sizeGib, or leave it out"
            yield Fault(("backend", "cacheClass"), reason)
        if args.mirror and args.mirror.to.region and args.mirror.every not in (None, IN_TIME):
            reason = f"got {args.mirror.every}, S3 has {IN_TIME} (Replication Time Control), or itself decides when"
            yield Fault(("mirror", "every"), reason)

    def _bucket(self, args: "VolumeArgs") -> Iterator[Fault]:
        """What is for new buckets alone, and what is for others."""
        if self.bucket is None:
            if self.region is not None:
                reason = "given, and a new bucket is in the cluster's region: leave it out, or name a bucket of yours"
                yield Fault(("backend", "region"), reason)
            return
        if self.region is not None:
            yield from aws_region.faults(self.region, ("backend", "region"))
        given = (("backend", "bucket"),)
        if self.keep_replaced_days is not None:
            reason = f"given, and what bucket {self.bucket} keeps is set there: leave it out"
            yield Fault(("backend", "keepReplacedDays"), reason, given=given)
        if args.mirror and args.mirror.to.region:
            reason = f"given, and where bucket {self.bucket} is copied to is set there: leave it out"
            yield Fault(("mirror",), reason, given=given)

    def _keys(self, args: "VolumeArgs", cluster: Eks) -> Iterator[Fault]:
        if self.kms_key:
            yield from kms_key.elsewhere(self.kms_key, self.region or cluster.region, "kmsKey")
        mirrored = args.mirror is not None and args.mirror.to.region is not None
        if self.bucket and mirrored:
            return  # wrong itself
        if mirrored and self.mirror_kms_key and not self.kms_key:
            reason = "given without kmsKey, and S3 encrypts by a key in the copy only what one encrypts here: need both"
            yield Fault(("backend", "mirrorKmsKey"), reason)
        else:
            yield from kms_key.of_mirror(args, cluster, self.kms_key, self.mirror_kms_key)

    @classmethod
    def check_together(cls, volumes: Mapping[str, "VolumeArgs"], cluster: ClusterArgs) -> Iterator[Fault]:
        most = bucket_rights.MOST_OF_A_ROLE
        taken = sum(args.backend._characters(args) for args in volumes.values() if isinstance(args.backend, S3))
        if taken > most:
            reason = f"got s3, and the rights on the buckets of {len(volumes)} volumes take {taken:,} characters"
            need = f"AWS has {most:,} for the role of a driver: need fewer of them"
            yield Fault((list(volumes)[-1], "backend"), f"{reason}, {need}")

    def _characters(self, args: "VolumeArgs") -> int:
        """How much of the role of its driver the rights on its bucket take, at most."""
        arn = f"arn:aws:s3:::{self.bucket or _LIKE_A_NEW_ONE}"
        writes = bucket_rights.writes(args.access_modes or self.access_modes)
        return bucket_rights.counted(bucket_rights.policy(self, arn, writes=writes))

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of AWS.
        from components.eks import bucket_volume

        return bucket_volume.driver(cluster.native)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.eks import bucket_volume

        return bucket_volume.claim(self, request, opts)
