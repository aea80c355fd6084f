"""Volumes on EKS that are shared: EFS, reachable in every zone of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import zones
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.efs.settings import EfsSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import aws
from tensorplane.components.volumes.snapshots import aws_backup

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace


class Efs(EfsSettings):
    """An EFS file system, which grows automatically. Pods mount one directory of it over TLS."""

    kind: Literal["efs"] = "efs"

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster, at_most=1)
        yield from aws.key_problems(self.kms_key, cluster)
        if args.source is not None and args.source.snapshot is not None:
            reason = (
                "AWS Backup restores into a file system, with `aws backup start-restore-job`, not into a new volume"
            )
            yield Problem(("from", "snapshot"), reason)
        yield from aws.mirror_region_problems(args, cluster)
        yield from aws.mirror_key_problems(args, cluster, self.kms_key, self.mirror_kms_key)
        if args.mirror and args.mirror.every and args.mirror.to.region:
            yield Problem(("mirror", "every"), f"is {args.mirror.every}, but EFS replicates continuously; remove it")
        yield from aws_backup.find_problems(args.snapshots)

    @classmethod
    def mirror_command(cls, csi: Mapping[str, Any]) -> str | None:
        if csi.get("driver") != "efs.csi.aws.com":
            return None
        file_system = str(csi["volumeHandle"]).split(":")[0]
        query = "Replications[].Destinations[].LastReplicatedTimestamp"
        return f"aws efs describe-replication-configurations --file-system-id {file_system} --query '{query}'"

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of AWS is only needed on its own clusters.
        from tensorplane.components.clusters.eks import addons

        return [addons.of_volumes(cluster.native, "aws-efs-csi-driver").addon]

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.efs import file_system

        return file_system.claim(self, request, opts)
