"""Volumes on AKS that are disks: Azure's managed disks, each for the pods of one node, in one zone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.cluster import Cluster, ClusterArgs
from components.faults import Fault
from components.model import Filled
from components.namespace import Namespace
from components.volume import own_class, zones
from components.volume.backend import Backend, Request
from components.volume.capabilities import CSI, Capabilities
from components.volume.clouds import azure_id

if TYPE_CHECKING:
    from components.aks.whole import Native
    from components.volume import VolumeArgs

_DRIVER = "disk.csi.azure.com"
_V2 = "PremiumV2_LRS"
_EVERY_ZONE = "_ZRS"
# learn.microsoft.com/azure/virtual-machines/disks-types
_LARGEST_V1 = 32767
_IOPS_WITHOUT_A_FEE = 3000
_IOPS_PER_GIB = 500
_MIB_WITHOUT_A_FEE = 125
_MIB_PER_IOPS = 0.25


class AzureDisk(Backend):
    """A managed disk. Every AKS cluster has the driver, and the disks are always encrypted."""

    kind: Literal["azureDisk"] = "azureDisk"

    sku: Literal["Premium_LRS", "Premium_ZRS", "PremiumV2_LRS", "StandardSSD_LRS", "StandardSSD_ZRS"] = "Premium_LRS"
    """Type and redundancy, as Azure spells them. One of ZRS can be mounted in every zone; PremiumV2_LRS, in its own
    zone alone, has the throughput that you set."""
    iops: Annotated[int, Field(ge=3000, le=80000)] | None = None
    """Reads and writes per second of a PremiumV2_LRS, at most 500 for each GiB; 3000, which are free, by default."""
    throughput_mib: Annotated[int, Field(ge=125, le=1200)] | None = None
    """MB per second of a PremiumV2_LRS, at most a quarter of `iops`; 125, which are free, by default."""
    encryption_set: Filled | None = None
    """Resource id of a disk encryption set with your key; Azure's own key by default."""

    clusters: ClassVar[frozenset[str] | None] = frozenset({"aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce",),
        snapshot=CSI,
        clone=CSI,
        expand=True,
        placement="zones",
        reach="zone",
        encryption="always; `encryptionSet`",
        quota="the disk",
        min_gib=1,
        max_gib=65536,
        consistency="as after a power failure",
        throughput="type and size, or `throughputMib`",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVER

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        return {"incremental": "true"}

    def in_one_zone(self, cluster: ClusterArgs) -> bool:
        return not self.sku.endswith(_EVERY_ZONE)

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster)
        if self.encryption_set:
            yield from azure_id.faults(("backend", "encryptionSet"), self.encryption_set, azure_id.DISK_ENCRYPTION_SET)
        yield from self._performance(args) if self.sku == _V2 else self._of_its_size(args)

    def _performance(self, args: "VolumeArgs") -> Iterator[Fault]:
        iops, most = self.iops or _IOPS_WITHOUT_A_FEE, max(_IOPS_WITHOUT_A_FEE, _IOPS_PER_GIB * args.size_gib)
        if iops > most:
            yield Fault(("backend", "iops"), f"got {iops}, at most {most:g} with {args.size_gib:g} GiB")
        if (self.throughput_mib or 0) > iops * _MIB_PER_IOPS:
            reason = f"got {self.throughput_mib}, at most {iops * _MIB_PER_IOPS:g} with {iops} iops"
            yield Fault(("backend", "throughputMib"), reason)

    def _of_its_size(self, args: "VolumeArgs") -> Iterator[Fault]:
        for key, value in (("throughputMib", self.throughput_mib), ("iops", self.iops)):
            if value is not None:
                reason = f"given, and that of a {self.sku} follows from its size: need sku {_V2}"
                yield Fault(("backend", key), reason, given=(("backend", "sku"),))
        if _LARGEST_V1 < args.size_gib <= (self.capabilities.max_gib or 0):
            reason = f"got {args.size_gib:g}, a {self.sku} has at most {_LARGEST_V1:,} GiB: need less, or sku {_V2}"
            yield Fault(("sizeGib",), reason, given=(("backend", "sku"),))

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of Azure.
        from components.aks import disks

        return disks.group(cluster, volumes)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.aks import data_group

        native: Native = request.cluster.native
        region = native.context.args.region
        asked = request.args.placement.zones if request.args.placement else ()
        parameters: dict[str, str] = {"skuName": self.sku}
        if self.sku == _V2:
            parameters["DiskIOPSReadWrite"] = str(self.iops or _IOPS_WITHOUT_A_FEE)
            parameters["DiskMBpsReadWrite"] = str(self.throughput_mib or _MIB_WITHOUT_A_FEE)
            parameters["cachingMode"] = "None"  # it takes no other
        if self.encryption_set:
            parameters["diskEncryptionSetID"] = self.encryption_set
        return own_class.claim(
            request,
            opts,
            provisioner=_DRIVER,
            parameters=parameters,
            zone_key="topology.disk.csi.azure.com/zone",
            zones=[f"{region}-{zone}" for zone in asked],
            known_later={"resourceGroup": data_group.among(request.installed).name},
        )
