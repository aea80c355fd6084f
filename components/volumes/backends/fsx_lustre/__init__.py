"""Volumes on EKS with high parallel throughput: FSx for Lustre, in one zone, optionally linked with a bucket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import zones
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.fsx_lustre.settings import SMALLEST, FsxLustreSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import aws
from tensorplane.components.volumes.snapshots import aws_backup

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace

_STEP = 2400
_BACKUP = re.compile(r"backup-[0-9a-f]{8,}")


class FsxLustre(FsxLustreSettings):
    """An FSx for Lustre file system. You pay for its size, and its throughput grows with it."""

    kind: Literal["fsxLustre"] = "fsxLustre"

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster, at_most=1)
        yield from aws.key_problems(self.kms_key, cluster)
        yield from aws_backup.find_problems(args.snapshots)
        yield from _size(args.size_gib)
        yield from self._scratch()
        if args.snapshots and not self.backs_up:
            other = ("deployment",) if self.repository is None else ("repository",)
            why = "scratch file systems" if self.repository is None else "file systems that are linked with a bucket"
            reason = f"is not supported, because FSx does not back up {why}; remove it"
            yield Problem(("snapshots",), reason, given=(("backend", *other),))
        if args.source and args.source.snapshot and not _BACKUP.fullmatch(args.source.snapshot):
            reason = (
                f"{args.source.snapshot!r} is not the id of an FSx backup; use one such as backup-0123456789abcdef0"
            )
            yield Problem(("from", "snapshot"), reason)
        if self.repository and not (self.repository.imports or self.repository.exports):
            yield Problem(
                ("backend", "repository"), "sets neither import nor export, so it has no effect; set at least one"
            )

    def _scratch(self) -> Iterator[Problem]:
        if self.deployment == "scratch":
            for key, value in (("throughput", self.throughput), ("kmsKey", self.kms_key)):
                if value is not None:
                    reason = "is not supported by a scratch file system; remove it, or set deployment: persistent"
                    yield Problem(("backend", key), reason, given=(("backend", "deployment"),))

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of AWS is only needed on its own clusters.
        from tensorplane.components.clusters.eks import addons

        return [addons.of_volumes(cluster.native, "aws-fsx-csi-driver").addon]

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.fsx_lustre import lustre

        return lustre.claim(self, request, opts)


def _size(gib: float) -> Iterator[Problem]:
    """FSx sells the smallest size, and multiples of twice that."""
    if gib > SMALLEST and gib % _STEP:
        below = gib // _STEP * _STEP
        near = min((below or SMALLEST, below + _STEP), key=lambda size: (abs(size - gib), -size))
        reason = f"invalid size {gib:g} for FSx for Lustre; use 1200 GiB, 2400 GiB or a multiple of 2400 GiB"
        yield Problem(("sizeGib",), f"{reason} (did you mean {near:g}?)")
