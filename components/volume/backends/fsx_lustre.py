"""Volumes on EKS that are fast for many readers: FSx for Lustre, in one zone, for itself or in front of a bucket."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.cluster import Cluster, ClusterArgs
from components.faults import Fault
from components.model import Model, RelativePath
from components.namespace import Namespace
from components.volume import zones
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities
from components.volume.clouds import aws_backup, kms_key
from components.volume.clouds.bucket_name import BucketName
from components.volume.clouds.kms_key import KmsKey

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_SMALLEST = 1200
_STEP = 2400
_BACKUP = re.compile(r"backup-[0-9a-f]{8,}")


class Repository(Model):
    """A bucket that the file system shows as files. The bucket has to be in the cluster's region."""

    bucket: BucketName
    """The bucket, which has to exist."""
    prefix: RelativePath | None = None
    """Folder of the bucket; all of it by default."""
    imports: Annotated[bool, Field(alias="import")] = True
    """Whether objects of the bucket, and what becomes of them there, appear as files. Their content comes when it is
    first read."""
    exports: Annotated[bool, Field(alias="export")] = False
    """Whether files, and what becomes of them, are written to the bucket, some time after."""


class FsxLustre(Backend):
    """A Lustre file system that AWS runs. Its size is what you pay for, and its throughput grows with it."""

    kind: Literal["fsxLustre"] = "fsxLustre"

    deployment: Literal["persistent", "scratch"] = "persistent"
    """`persistent` replaces a file server that fails, with its data; `scratch` costs less and loses that data."""
    throughput: Literal[125, 250, 500, 1000] | None = None
    """MB per second for each TiB of size: 125 by default. That of a `scratch` file system is 200, and no setting."""
    compression: bool = True
    """Whether files are compressed (LZ4), which makes more of size and throughput."""
    kms_key: KmsKey | None = None
    """ARN of the KMS key that encrypts it; AWS' own key for FSx by default. A change replaces the file system."""
    repository: Repository | None = None
    """A bucket whose objects are its files, or that gets its files; none by default."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"eks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany"),
        snapshot="AWS Backup",
        expand=True,
        placement="one zone",
        reach="region",
        encryption="always; `kmsKey`",
        quota="the file system",
        outside="Lustre with `mount -t lustre`, from the VPC or what is linked with it",
        min_gib=_SMALLEST,
        consistency="as after a power failure",
        throughput="size and `throughput`",
    )

    @property
    def backs_up(self) -> bool:
        """Whether FSx makes backups of it: not of `scratch`, and not of what is linked with a bucket."""
        return self.deployment == "persistent" and self.repository is None

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster, at_most=1)
        yield from kms_key.faults(self.kms_key, cluster)
        yield from aws_backup.faults(args.snapshots)
        yield from _size(args.size_gib)
        yield from self._scratch()
        if args.snapshots and not self.backs_up:
            other = ("deployment",) if self.repository is None else ("repository",)
            why = "a scratch file system" if self.repository is None else "one that is linked with a bucket"
            reason = f"given, and FSx makes no backups of {why}"
            yield Fault(("snapshots",), reason, given=(("backend", *other),))
        if args.source and args.source.snapshot and not _BACKUP.fullmatch(args.source.snapshot):
            reason = f"got {args.source.snapshot!r}, need the id of a backup of FSx, such as backup-0123456789abcdef0"
            yield Fault(("from", "snapshot"), reason)
        if self.repository and not (self.repository.imports or self.repository.exports):
            yield Fault(("backend", "repository"), "neither import nor export, so nothing would happen: need one")

    def _scratch(self) -> Iterator[Fault]:
        if self.deployment == "scratch":
            for key, value in (("throughput", self.throughput), ("kmsKey", self.kms_key)):
                if value is not None:
                    reason = "given, and a scratch file system takes none: leave it out, or need deployment persistent"
                    yield Fault(("backend", key), reason, given=(("backend", "deployment"),))

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of AWS.
        from components.eks import addons

        return [addons.of_volumes(cluster.native, "aws-fsx-csi-driver").addon]

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.eks import lustre

        return lustre.claim(self, request, opts)


def _size(gib: float) -> Iterator[Fault]:
    """FSx sells the smallest size, and multiples of twice that."""
    if gib > _SMALLEST and gib % _STEP:
        below = gib // _STEP * _STEP
        near = min((below or _SMALLEST, below + _STEP), key=lambda size: (abs(size - gib), -size))
        reason = f"got {gib:g}, FSx for Lustre has 1200 GiB, 2400 GiB and multiples of 2400 GiB"
        yield Fault(("sizeGib",), f"{reason} (did you mean {near:g}?)")
