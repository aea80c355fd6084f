"""Volumes on GKE disks: Persistent Disk and Hyperdisk, each ReadWriteOnce, in one zone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components.base.labels import GKE_ZONE
from tensorplane.components.base.model import In, NonEmptyStr
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import storage_class_per_volume, zones
from tensorplane.components.volumes.backend import Backend, Request
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.capabilities import CSI, Capabilities
from tensorplane.components.volumes.clouds import google

_DRIVER = "pd.csi.storage.gke.io"
_HYPERDISK, _READ_ONLY = "hyperdisk-balanced", "hyperdisk-ml"
_LEAST_OF_HYPERDISK = 4
_FASTEST = 2400
"""Maximum MiB/s of a hyperdisk-balanced."""
_LEAST_WITH_IOPS = 6
"""Smallest hyperdisk-balanced in GiB with configurable IOPS: 4 GiB have 2,000, 5 GiB 2,500, larger ones 3,000 or more
(kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#2054)."""
_SLOWEST_ML, _SLOWEST_ML_EACH, _FASTEST_ML_EACH = 400, 0.12, 1600
"""MiB/s of a hyperdisk-ml: minimum, minimum and maximum per GiB (Compute Engine, "About Hyperdisk ML")."""


class PersistentDisk(Backend):
    """A Google Cloud disk. Every GKE cluster has the driver, and the disks are always encrypted."""

    kind: Literal["persistentDisk"] = "persistentDisk"

    type: Literal["pd-balanced", "pd-ssd", "hyperdisk-balanced", "hyperdisk-ml"] = "pd-balanced"
    """Disk type. Newer machines, such as C4 and A3 Ultra, support Hyperdisk only; older ones do not support it.

    A hyperdisk-ml that is restored from a snapshot can be read by many nodes: `accessModes: [ReadOnlyMany]`.
    """
    throughput_mib: Annotated[int, Field(ge=140, le=2097152)] | None = None
    """Throughput of a Hyperdisk in MiB/s; derived from the size by default. Other types derive it from the size."""
    iops: Annotated[int, Field(ge=3000, le=160000)] | None = None
    """IOPS of a hyperdisk-balanced; derived from the size by default."""
    kms_key: In[NonEmptyStr] | None = None
    """Cloud KMS key (projects/…/cryptoKeys/…) that the Compute Engine service agent may use; a Google-managed key by
    default."""

    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadOnlyMany"),
        snapshot=CSI,
        clone=CSI,
        expand=True,
        placement="zones",
        mount_scope="zone",
        encryption="always; `kmsKey`",
        quota="the disk",
        min_gib=1,
        max_gib=65536,
        consistency="crash-consistent",
        throughput_depends_on="size, or `throughputMib`",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVER

    @property
    def may_have_content(self) -> bool:
        # `_read_only` checks the source.
        return True

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster)
        if self.kms_key:
            yield from google.key_problems(self.kms_key, "kmsKey", str(cluster.catalog_region))
        if self.type == _READ_ONLY:
            yield from self._ml(args.size_gib)
        elif self.type == _HYPERDISK and self.throughput_mib and self.throughput_mib > _FASTEST:
            reason = f"{self.throughput_mib} exceeds the limit of {self.type}; set {_FASTEST:,} or less"
            yield Problem(("backend", "throughputMib"), reason, given=(("backend", "type"),))
        elif self.type == _HYPERDISK and self.iops and math.ceil(args.size_gib) < _LEAST_WITH_IOPS:
            reason = f"is {self.iops}, but IOPS of a {self.type} below {_LEAST_WITH_IOPS} GiB follow from its size"
            yield Problem(("backend", "iops"), f"{reason}; remove it", given=(("sizeGib",),))
        by_size = [("iops", self.iops)] if self.type != _HYPERDISK else []
        if not self.type.startswith("hyperdisk"):
            by_size.insert(0, ("throughputMib", self.throughput_mib))
        for key, value in by_size:
            if value is not None:
                reason = (
                    f"is not configurable for {self.type}, where it follows from the size; remove it, or set "
                    f"type {_HYPERDISK}"
                )
                yield Problem(("backend", key), reason, given=(("backend", "type"),))
        if self.type.startswith("hyperdisk") and args.size_gib < _LEAST_OF_HYPERDISK:
            reason = f"{args.size_gib:g} GiB is too small for {self.type}; set {_LEAST_OF_HYPERDISK} or more"
            yield Problem(("sizeGib",), reason, given=(("backend", "type"),))
        if args.access_modes and "ReadOnlyMany" in args.access_modes:
            yield from self._read_only(args)

    def _ml(self, size: float) -> Iterator[Problem]:
        least, most = max(_SLOWEST_ML, math.ceil(size * _SLOWEST_ML_EACH)), int(size * _FASTEST_ML_EACH)
        if self.throughput_mib and not least <= self.throughput_mib <= most:
            reason = (
                f"invalid throughput {self.throughput_mib} for a {self.type} of {size:g} GiB; use {least:,} to {most:,}"
            )
            yield Problem(("backend", "throughputMib"), reason, given=(("sizeGib",),))

    def _read_only(self, args: VolumeSettings) -> Iterator[Problem]:
        """Only hyperdisk-ml can be attached to several nodes, read-only, so its data must come from a snapshot."""
        at = ("accessModes",)
        if self.type != _READ_ONLY:
            reason = f"{self.type} does not support ReadOnlyMany; set type {_READ_ONLY}"
            yield Problem(at, reason, given=(("backend", "type"),))
        elif args.access_modes != ["ReadOnlyMany"]:
            yield Problem(at, "mixes ReadOnlyMany with another mode, which a disk does not support; choose one")
        elif args.source is None or args.source.snapshot is None:
            yield Problem(
                ("from",), "missing, but a ReadOnlyMany disk cannot be written to; set the snapshot that it restores"
            )

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        given: dict[str, pulumi.Input[str] | None] = {
            "disk-encryption-kms-key": as_input(self.kms_key) if self.kms_key else None,
            "provisioned-iops-on-create": str(self.iops) if self.iops else None,
            "provisioned-throughput-on-create": f"{self.throughput_mib}Mi" if self.throughput_mib else None,
        }
        parameters = {"type": self.type, **{key: value for key, value in given.items() if value}}
        return storage_class_per_volume.claim(
            request, opts, provisioner=_DRIVER, parameters=parameters, zone_key=GKE_ZONE
        )
