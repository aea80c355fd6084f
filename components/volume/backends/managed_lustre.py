"""Volumes on GKE for training at the speed of the hardware: Managed Lustre, a parallel file system in one zone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import Cluster, ClusterArgs
from components.cluster.gke import Gke
from components.faults import Fault
from components.model import Filled
from components.namespace import Namespace
from components.volume import zones
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities
from components.volume.clouds import google_key

if TYPE_CHECKING:
    from components.volume import VolumeArgs

MegabytesPerTib = Literal[125, 250, 500, 1000]
_STEPS: Mapping[MegabytesPerTib, int] = {1000: 9_000, 500: 18_000, 250: 36_000, 125: 72_000}
"""GiB in which it is sold (Managed Lustre, "Performance tiers"), up to more than any volume of tensorplane's has."""


class ManagedLustre(Backend):
    """A parallel file system of Google's, which all nodes of its zone share, in the cluster's network."""

    kind: Literal["managedLustre"] = "managedLustre"

    mbps_per_tib: MegabytesPerTib = 1000
    """MB per second that each TiB of it reads and writes. Fewer cost less, and are sold in larger steps."""
    network: Filled | None = None
    """The VPC network (projects/…/global/networks/…); the cluster's own by default. Needed where the cluster is in a
    network of yours, which has to have private services access, and a firewall that lets TCP 988 in from there."""
    kms_key: Filled | None = None
    """Cloud KMS key that encrypts it (projects/…/cryptoKeys/…), which Lustre's agent may use. Google's own by
    default."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        expand=True,
        placement="one zone",
        reach="zone",
        encryption="always; `kmsKey`",
        quota="the file system",
        outside="Lustre's client, from the VPC",
        min_gib=_STEPS[1000],
        throughput="`mbpsPerTib` and size",
    )

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster, at_most=1)
        if args.placement is None:
            have = f", such as {usual[0]}" if (usual := zones.of(cluster)) else ""
            yield Fault(("placement",), f"missing, and it is in one zone: that of the GPUs which read it{have}")
        step, size = _STEPS[self.mbps_per_tib], args.size_gib
        if size >= self.capabilities.min_gib and size % step:
            below = int(size // step) * step
            near = " or ".join(f"{gib:,}" for gib in (below, below + step) if gib)
            reason = f"got {size:g}, with {self.mbps_per_tib} MBps per TiB it has steps of {step:,} GiB: need {near}"
            yield Fault(("sizeGib",), reason, given=(("backend", "mbpsPerTib"),))
        if not isinstance(cluster, Gke):
            return
        if not cluster.lustre:
            reason = "got managedLustre, of which the nodes have no driver: set cluster.lustre to true"
            yield Fault(("backend",), reason, given=(("cluster", "lustre"),))
        if self.kms_key:
            yield from google_key.faults(self.kms_key, "kmsKey", cluster.region)
        if cluster.network.existing and self.network is None:
            reason = "missing, and the cluster is in a network of yours: projects/PROJECT/global/networks/NAME"
            yield Fault(("backend", "network"), reason)

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of Google Cloud.
        from components.gke import lustre_network

        return lustre_network.connect(cluster)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.gke import lustre

        return lustre.claim(self, request, opts)
