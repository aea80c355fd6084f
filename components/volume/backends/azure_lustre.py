"""Volumes on AKS that many nodes read and write at the speed of Lustre: Azure Managed Lustre, with a blob container."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import AfterValidator, Field

from components.aks.addresses import lustre_subnet
from components.cluster import Cluster, ClusterArgs
from components.cluster.aks import DEFAULT_CIDR, Aks
from components.faults import Fault
from components.model import Filled, Line, Model, refuse
from components.namespace import Namespace
from components.volume import zones
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities
from components.volume.clouds import azure_id

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_GIB_OF_A_TIB = 1024


@dataclass(frozen=True)
class _Tier:
    step_tib: int
    """Its sizes are multiples of this."""
    most_tib: int


# learn.microsoft.com/azure/azure-managed-lustre/create-file-system-portal#throughput-configurations
_TIERS: Mapping[int, _Tier] = {40: _Tier(48, 12800), 125: _Tier(16, 4096), 250: _Tier(8, 2048), 500: _Tier(4, 1024)}
# …/amlfs-prerequisites#network-size-requirements: TiB, up to which a subnet of this length is large enough.
_SUBNETS: Mapping[int, int] = {27: 16, 26: 40, 25: 92, 24: 196, 23: 400}


def _prefix(value: str) -> str:
    if not value.startswith("/"):
        refuse("a folder of the container, from its root on, such as /images")
    return value


Prefix = Annotated[Line, AfterValidator(_prefix)]


class Blob(Model):
    """A blob container whose files appear in the file system, and are read into it when somebody opens them. The roles
    Storage Account Contributor and Storage Blob Data Contributor of `HPC Cache Resource Provider` there are yours to
    give. A change of anything but `export` replaces the file system."""

    container: Filled
    """Resource id of the container."""
    logging_container: Filled
    """Resource id of another container of the same account, for what goes wrong."""
    import_prefixes: Annotated[tuple[Prefix, ...], Field(max_length=10)] = ("/",)
    """Folders of the container that appear when the file system is made; all by default."""
    export: bool = False
    """Whether what is written in the file system goes to the container by itself."""


class LustreKey(Model):
    """A key of yours, by what encrypts with it. A change replaces the file system."""

    vault: Filled
    """Resource id of the key vault, in the cluster's region and subscription."""
    url: Filled
    """Address of the key with its version, such as https://research.vault.azure.net/keys/lustre/0123."""
    identity: Filled
    """Resource id of a user-assigned identity that may use the key (Key Vault Crypto User)."""


class AzureLustre(Backend):
    """A Lustre file system that Azure runs, in a subnet of its own beside the nodes'. Its driver is installed where a
    volume needs it."""

    kind: Literal["azureLustre"] = "azureLustre"

    mbps_per_tib: Literal[40, 125, 250, 500] = 125
    """MB per second for each TiB; sizes go by 48, 16, 8 or 4 TiB. A change replaces the file system."""
    subnet: Filled | None = None
    """Resource id of a subnet for it, where the nodes are in a subnet of yours; one is made in a new VNet."""
    blob: Blob | None = None
    """A blob container behind it; none by default."""
    key: LustreKey | None = None
    """The key that encrypts it; Azure's own by default."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        placement="one zone",
        reach="region",
        encryption="always; `key`",
        quota="the file system",
        outside="Lustre with `mount -t lustre`, from the VNet or what is linked with it",
        min_gib=4096,
        throughput="`mbpsPerTib` and size",
    )

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster, at_most=1)
        yield from self._size(args)
        yield from self._network(args, cluster)
        yield from self._ids()

    def _size(self, args: "VolumeArgs") -> Iterator[Fault]:
        if args.size_gib < self.capabilities.min_gib:
            return
        tier, tib = _TIERS[self.mbps_per_tib], args.size_gib / _GIB_OF_A_TIB
        nearest = min(max(1, math.ceil(tib / tier.step_tib)) * tier.step_tib, tier.most_tib)
        if tib != nearest:
            have = f"{tier.step_tib} to {tier.most_tib:,} TiB in steps of {tier.step_tib}"
            reason = f"got {args.size_gib:g} ({tib:g} TiB), {self.mbps_per_tib} MB/s for each TiB has {have}"
            near = f"(nearest: {nearest * _GIB_OF_A_TIB})"
            yield Fault(("sizeGib",), f"{reason} {near}", given=(("backend", "mbpsPerTib"),))

    def _network(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        if self.subnet:
            yield from azure_id.faults(("backend", "subnet"), self.subnet, azure_id.SUBNET)
        elif isinstance(cluster, Aks) and cluster.network.subnet:
            yield Fault(("backend", "subnet"), "missing, and the nodes are in a subnet of yours: need one beside it")
        elif isinstance(cluster, Aks):
            cidr = cluster.network.cidr or DEFAULT_CIDR
            try:
                made = lustre_subnet(cidr)
            except ValueError:
                return  # the cluster's own fault
            most = _SUBNETS.get(int(made.rpartition("/")[2]))
            if most and args.size_gib > most * _GIB_OF_A_TIB:
                reason = f"got {args.size_gib:g}, and {cidr} leaves {made} to Lustre, enough for {most} TiB"
                yield Fault(
                    ("sizeGib",), f"{reason}: need a larger cluster.network.cidr", given=(("cluster", "network"),)
                )

    def _ids(self) -> Iterator[Fault]:
        if self.blob:
            for key, value in (("container", self.blob.container), ("loggingContainer", self.blob.logging_container)):
                yield from azure_id.faults(("backend", "blob", key), value, azure_id.CONTAINER)
            yield from _same_account(self.blob)
        if self.key:
            yield from azure_id.faults(("backend", "key", "vault"), self.key.vault, azure_id.VAULT)
            yield from azure_id.faults(("backend", "key", "identity"), self.key.identity, azure_id.IDENTITY)

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of Azure.
        from components.aks import lustre

        return lustre.shared(cluster, volumes)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.aks import lustre

        return lustre.claim(self, request, opts)


def _same_account(blob: Blob) -> Iterator[Fault]:
    """Two containers of one account."""
    one, other = (azure_id.parts(value, azure_id.CONTAINER) for value in (blob.container, blob.logging_container))
    if one and other and (one[0] != other[0] or one[1] == other[1]):
        reason = f"got container {other[1]} of account {other[0]}, need another one than {one[1]} of account {one[0]}"
        yield Fault(("backend", "blob", "loggingContainer"), reason, given=(("backend", "blob", "container"),))
