"""Volumes on EKS that are EBS disks, each ReadWriteOnce, in one zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components.base.model import In
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import storage_class_per_volume, zones
from tensorplane.components.volumes.backend import Backend, Request
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.capabilities import CSI, Capabilities
from tensorplane.components.volumes.clouds import aws
from tensorplane.components.volumes.clouds.aws import KmsKey

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace

_DRIVER = "ebs.csi.aws.com"
_IOPS_PER_GIB = 500
_IOPS_WITHOUT_A_FEE = 3000
_MIB_PER_IOPS = 0.25


class Ebs(Backend):
    """An EBS volume of type gp3. Every EKS cluster has the driver, and the disks are always encrypted."""

    kind: Literal["ebs"] = "ebs"

    iops: Annotated[int, Field(ge=3000, le=80000)] = _IOPS_WITHOUT_A_FEE
    """IOPS, at most 500 per GiB. More than 3000 cost extra."""
    throughput_mib: Annotated[int, Field(ge=125, le=2000)] = 125
    """Throughput in MiB/s, at most a quarter of `iops`. More than 125 cost extra."""
    kms_key: In[KmsKey] | None = None
    """ARN of the KMS key; the AWS-managed key for EBS by default. A change creates another volume."""

    clusters: ClassVar[frozenset[str] | None] = frozenset({"eks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce",),
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
        throughput_depends_on="`throughputMib`",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVER

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster)
        yield from aws.key_problems(self.kms_key, cluster)
        most = max(_IOPS_WITHOUT_A_FEE, _IOPS_PER_GIB * args.size_gib)
        if self.iops > most:
            yield Problem(
                ("backend", "iops"), f"{self.iops} exceeds the limit for {args.size_gib:g} GiB; set {most:g} or less"
            )
        if self.throughput_mib > self.iops * _MIB_PER_IOPS:
            reason = (
                f"{self.throughput_mib} exceeds the limit for {self.iops} IOPS; set "
                f"{self.iops * _MIB_PER_IOPS:g} or less"
            )
            yield Problem(("backend", "throughputMib"), reason)

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        backends = [args.backend for args in volumes.values()]
        keys = [as_input(one.kms_key) for one in backends if isinstance(one, Ebs) and one.kms_key]
        if not keys:
            return ()
        # Imported here, because the SDK of AWS is only needed on its own clusters.
        from tensorplane.components.volumes.backends.ebs import disk_keys

        return [disk_keys.grant(cluster.native, keys)]

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        parameters: dict[str, pulumi.Input[str]] = {
            "type": "gp3",
            "encrypted": "true",
            "iops": str(self.iops),
            "throughput": str(self.throughput_mib),
            **({"kmsKeyId": as_input(self.kms_key)} if self.kms_key else {}),
        }
        return storage_class_per_volume.claim(request, opts, provisioner=_DRIVER, parameters=parameters)
