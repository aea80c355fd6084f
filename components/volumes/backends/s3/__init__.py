"""Volumes on EKS that are S3 buckets, mounted by Mountpoint for S3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import known
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.s3 import bucket_rights
from tensorplane.components.volumes.backends.s3.settings import S3Settings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import aws, copy_name

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace

_LIKE_A_NEW_ONE = "b" * 48
"""A name of the maximum length of new buckets: see components/clusters/eks/native.py."""
_LIKE_ANY = "b" * 63
"""A name of the maximum length of buckets."""
_LIKE_ANY_KEY = f"arn:aws-us-gov:kms:us-gov-west-1:{'0' * 12}:key/mrk-{'0' * 32}"
"""An ARN of the maximum length of keys."""
IN_TIME = "15m"
"""The interval of S3's Replication Time Control."""


class S3(S3Settings):
    """An S3 bucket mounted as files by Mountpoint for S3. A file is written once, sequentially; it cannot be renamed or
    appended to. So it suits data sets and finished models, but not checkpoints."""

    kind: Literal["s3"] = "s3"

    def makes(self, name: str, args: VolumeSettings) -> Iterator[tuple[str, str]]:
        if self.bucket is None:
            yield from copy_name.both("bucket", name, args)

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from self._bucket(args)
        yield from aws.mirror_region_problems(args, cluster)
        yield from self._keys(args, cluster)
        if self.cache_class and not args.cache:
            reason = "is set but cache is not; set cache.sizeGib, or remove it"
            yield Problem(("backend", "cacheClass"), reason)
        if args.mirror and args.mirror.to.region and args.mirror.every not in (None, IN_TIME):
            reason = (
                f"invalid interval {args.mirror.every} for S3 replication; use {IN_TIME} (Replication Time "
                f"Control), or remove it"
            )
            yield Problem(("mirror", "every"), reason)

    def _bucket(self, args: VolumeSettings) -> Iterator[Problem]:
        """Problems of settings that apply only to new or only to existing buckets."""
        if self.bucket is None:
            if self.region is not None:
                reason = "applies to an existing bucket only; remove it, or set bucket"
                yield Problem(("backend", "region"), reason)
            return
        if self.region is not None:
            yield from aws.region_problems(self.region, ("backend", "region"))
        given = (("backend", "bucket"),)
        it = "the bucket" if (bucket := known(self.bucket)) is None else f"bucket {bucket}"
        if self.keep_replaced_days is not None:
            reason = f"applies to a new bucket only; remove it, and configure {it} itself"
            yield Problem(("backend", "keepReplacedDays"), reason, given=given)
        if args.mirror and args.mirror.to.region:
            reason = (
                f"is not supported for the existing {it}; remove it, and configure replication of the bucket itself"
            )
            yield Problem(("mirror",), reason, given=given)

    def _keys(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        if self.kms_key and (region := self.region or cluster.catalog_region):
            yield from aws.elsewhere(self.kms_key, region, "kmsKey")
        mirrored = args.mirror is not None and args.mirror.to.region is not None
        if self.bucket and mirrored:
            return  # reported by another check
        if mirrored and self.mirror_kms_key and not self.kms_key:
            reason = (
                "is set but kmsKey is not; set both, or neither (S3 replicates with a key only what a key encrypts)"
            )
            yield Problem(("backend", "mirrorKmsKey"), reason)
        else:
            yield from aws.mirror_key_problems(args, cluster, self.kms_key, self.mirror_kms_key)

    @classmethod
    def check_together(cls, volumes: Mapping[str, VolumeSettings], cluster: ClusterArgs) -> Iterator[Problem]:
        most = bucket_rights.MOST_OF_A_ROLE
        taken = sum(args.backend._characters(args) for args in volumes.values() if isinstance(args.backend, S3))
        if taken > most:
            reason = f"the IAM policy for the buckets of {len(volumes)} volumes has {taken:,} characters"
            limit = f"but AWS allows {most:,}; declare fewer s3 volumes"
            yield Problem((list(volumes)[-1], "backend"), f"{reason}, {limit}")

    def _characters(self, args: VolumeSettings) -> int:
        """Maximum size of the bucket's policy in the driver's role, in characters."""
        bucket = (known(self.bucket) or _LIKE_ANY) if self.bucket else _LIKE_A_NEW_ONE
        key = (known(self.kms_key) or _LIKE_ANY_KEY) if self.kms_key else None
        writes = bucket_rights.writes(args.access_modes or self.access_modes)
        return bucket_rights.iam_length(bucket_rights.policy(self, f"arn:aws:s3:::{bucket}", key, writes=writes))

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of AWS is only needed on its own clusters.
        from tensorplane.components.volumes.backends.s3 import bucket_volume

        return bucket_volume.driver(cluster.native)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.s3 import bucket_volume

        return bucket_volume.claim(self, request, opts)
