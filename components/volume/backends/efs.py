"""Volumes on EKS that all nodes share: EFS, reached in every zone of the cluster."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import Cluster, ClusterArgs
from components.cluster.eks import Eks
from components.faults import Fault
from components.namespace import Namespace
from components.volume import zones
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities
from components.volume.clouds import aws_backup, aws_region, kms_key
from components.volume.clouds.kms_key import KmsKey

if TYPE_CHECKING:
    from components.volume import VolumeArgs


class Efs(Backend):
    """A file system of AWS that grows by itself. Pods reach it over TLS, as the owner of one folder in it."""

    kind: Literal["efs"] = "efs"

    kms_key: KmsKey | None = None
    """ARN of the KMS key that encrypts it; AWS' own key for EFS by default. A change replaces the file system."""
    mirror_kms_key: KmsKey | None = None
    """ARN of the KMS key of the mirror, in its region. Needed where there are `kmsKey` and a mirror."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"eks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot="AWS Backup",
        mirror={"region": "EFS replication"},
        expand=True,
        placement="one zone",
        reach="region",
        encryption="always; `kmsKey`",
        outside="NFS over TLS with `mount -t efs`, from the VPC or what is linked with it",
        consistency="from a span of time",
        throughput="elastic",
    )

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster, at_most=1)
        yield from kms_key.faults(self.kms_key, cluster)
        if args.source is not None and args.source.snapshot is not None:
            reason = (
                "AWS Backup restores into a file system, with `aws backup start-restore-job`, not into a new volume"
            )
            yield Fault(("from", "snapshot"), reason)
        if isinstance(cluster, Eks):
            yield from aws_region.of_mirror(args, cluster)
            yield from kms_key.of_mirror(args, cluster, self.kms_key, self.mirror_kms_key)
        if args.mirror and args.mirror.every and args.mirror.to.region:
            yield Fault(("mirror", "every"), f"got {args.mirror.every}, EFS itself decides when: leave it out")
        yield from aws_backup.faults(args.snapshots)

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of AWS.
        from components.eks import addons

        return [addons.of_volumes(cluster.native, "aws-efs-csi-driver").addon]

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.eks import file_system

        return file_system.claim(self, request, opts)
