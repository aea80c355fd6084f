"""Settings of a GKE cluster, and properties derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components import catalog
from tensorplane.components.base import stack_name
from tensorplane.components.base.labels import HOSTNAME, ZONE
from tensorplane.components.base.model import In, Line, Model, NonEmptyStr, Zones
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.catalog import GPU_RESOURCE, TPU_RESOURCE, Cloud
from tensorplane.components.clusters.effects import Effects
from tensorplane.components.clusters.gke.effects import EFFECTS
from tensorplane.components.clusters.settings import ClusterArgs, GpuSupport, TimeOfDay
from tensorplane.components.node_groups.cluster_properties import NodeTraits

_USUAL_ZONES = 3
_CLASSES_OF_GKE = (
    "standard",
    "standard-rwo",
    "premium-rwo",
    "standard-rwx",
    "premium-rwx",
    "zonal-rwx",
    "enterprise-rwx",
    "enterprise-multishare-rwx",
)
"""StorageClasses that GKE creates, for Persistent Disk and Filestore. Classes of newer drivers may be missing here."""

Day = Literal["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


class GkeSubnet(Model):
    """An existing network. Its nodes require egress (Cloud NAT) and Private Google Access."""

    network: In[NonEmptyStr]
    """Name of the VPC network, or its full path if it belongs to another project (Shared VPC)."""
    subnetwork: In[NonEmptyStr]
    """Subnetwork of the nodes, in the cluster's region."""
    pods_range: In[NonEmptyStr]
    """Name of the subnetwork's secondary range for pods."""
    services_range: In[NonEmptyStr]
    """Name of the subnetwork's secondary range for Services."""


class GkeNetwork(Model):
    """The cluster's network: a new one with one subnetwork in the region, or an existing one."""

    cidr: NonEmptyStr = "10.0.0.0/20"
    """CIDR of the nodes. It can be enlarged later, but not reduced."""
    pod_cidr: NonEmptyStr = "10.4.0.0/14"
    """CIDR of the pods. Each node takes twice its `maxPodsPerNode`, rounded up to a power of two."""
    service_cidr: NonEmptyStr = "10.8.0.0/20"
    """CIDR of Kubernetes Services."""
    control_plane_cidr: NonEmptyStr | None = None
    """CIDR of the control plane, a /28 that overlaps nothing else; by default part of the nodes' range."""
    existing: GkeSubnet | None = None
    """An existing network instead of a new one."""


class GkeEndpoint(Model):
    """Who can reach the Kubernetes API server. Clients inside the network always can; all clients authenticate."""

    dns: bool = True
    """Whether the DNS-based endpoint is reachable from outside the network. IAM authorizes each request."""
    public: bool = False
    """Whether the API server also has a public IP address."""
    allowed_cidrs: tuple[In[NonEmptyStr], ...] = ()
    """Networks that may reach the IP endpoints: your office, VPN or CI. The whole internet is refused."""


class GkeMaintenance(Model):
    """Window in which Google may upgrade the cluster, in UTC. GKE requires 48 hours in 32 days."""

    days: Annotated[tuple[Day, ...], Field(min_length=1)] = ("SA", "SU")
    """Days of the week."""
    start: TimeOfDay = "02:00"
    """Start of the window, as HH:MM in UTC."""
    hours: Annotated[int, Field(ge=4, le=24)] = 6
    """Length of the window in hours."""


class GkeSettings(ClusterArgs):
    """Settings of a cluster of kind `gke`."""

    project: In[NonEmptyStr]
    """Google Cloud project id."""
    region: NonEmptyStr
    """Google Cloud region, such as us-central1. The control plane is regional."""
    zones: Zones = ()
    """Zones of nodes. By default the region's first three, and for accelerators every zone that has them. A group keeps
    its initial zones unless its own `zones` change."""
    name: NonEmptyStr | None = None
    """Name of the cluster in Google Cloud; `tensorplane-<stack>` by default. A change replaces the cluster."""
    channel: Literal["rapid", "regular", "stable", "extended"] = "regular"
    """Release channel, which decides how early Google upgrades the cluster. Upgrades run in the maintenance window."""
    version: NonEmptyStr | None = None
    """Minimum Kubernetes version, such as 1.35 or 1.35.2-gke.1485000; the release channel's default by default."""
    network: GkeNetwork = GkeNetwork()
    """The network; by default a new one with Cloud NAT for egress."""
    endpoint: GkeEndpoint = GkeEndpoint()
    """Who can reach the API server."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Maximum number of pods per node. A change replaces the cluster."""
    maintenance: GkeMaintenance = GkeMaintenance()
    """When Google may upgrade the cluster; Saturday and Sunday from 02:00 to 08:00 UTC by default."""
    gpu_driver: Literal["default", "latest"] = "default"
    """NVIDIA driver that GKE installs on GPU nodes: the default for the node version, or the latest. A change replaces
    all GPU node pools."""
    encryption_key: In[NonEmptyStr] | None = None
    """Cloud KMS key that encrypts Kubernetes Secrets (projects/…/cryptoKeys/…); a new, rotated key by default."""
    lustre: bool = False
    """Whether nodes have the Managed Lustre driver, which volumes of backend `managedLustre` require. A change upgrades
    the node pools, because the driver requires kernel modules signed by Google."""
    groups_domain: NonEmptyStr | None = None
    """Domain of the Google groups in `members` of teams, such as example.com. GKE looks up groups that are in the group
    gke-security-groups of that domain."""
    deletion_protection: bool = True
    """Whether the cluster is protected from deletion. Set it to false and deploy before you destroy the stack."""
    labels: dict[NonEmptyStr, In[Line]] = Field(default_factory=dict)
    """Additional labels of all Google Cloud resources, for example for billing."""

    api_server_is_private: ClassVar[bool] = True
    effects: ClassVar[Effects | None] = EFFECTS
    controllers: ClassVar[frozenset[str]] = frozenset({"metrics_server"})
    default_disks: ClassVar[str | None] = "Persistent Disks"
    catalog: ClassVar[Cloud | None] = "gke"
    network_levels: ClassVar[Mapping[str, str]] = {
        "zone": ZONE,
        "block": "cloud.google.com/gce-topology-block",
        "subblock": "cloud.google.com/gce-topology-subblock",
        "host": HOSTNAME,
    }
    node_traits: ClassVar[NodeTraits] = NodeTraits(
        automatic_taints=frozenset({GPU_RESOURCE, TPU_RESOURCE}),
        label_domains=frozenset({"cloud.google.com"}),
        taint_domains=frozenset({"google.com"}),
        provisioner=True,
        class_label="cloud.google.com/compute-class",
        slices=True,
        # GKE has its own MPS daemon, which does not apply the limit to Volta.
        mps_of_old_gpus=7.0,
    )
    # GKE installs its own device plugin on nodes with GPUs; the node pool configures sharing.
    gpu_support: ClassVar[GpuSupport] = GpuSupport(("present",), driver=True)

    def load_balancer(self, *, public: bool) -> Mapping[str, str] | None:
        return {} if public else {"networking.gke.io/load-balancer-type": "Internal"}

    @property
    def catalog_region(self) -> str | None:
        return self.region

    @property
    def storage_classes(self) -> tuple[str, ...]:
        # The stack creates this one only in its own network (components/clusters/gke/file_storage.py).
        own = () if self.network.existing else ("tensorplane-files",)
        return (*own, *_CLASSES_OF_GKE)

    @property
    def node_zones(self) -> tuple[str, ...]:
        return self.usual_zones

    @property
    def existing_network(self) -> bool:
        return self.network.existing is not None

    @property
    def mounts_lustre(self) -> bool:
        return self.lustre

    @property
    def network_cidr(self) -> str | None:
        return None if self.existing_network else self.network.cidr

    @property
    def cluster_name(self) -> str:
        """Name of the cluster in Google Cloud."""
        return self.name or f"tensorplane-{stack_name.current()}"

    @property
    def usual_zones(self) -> tuple[str, ...]:
        """Zones of nodes without accelerators; empty if neither settings nor catalog have them."""
        return self.zones or catalog.zones("gke", self.region)[:_USUAL_ZONES]


def labels(args: GkeSettings) -> dict[str, pulumi.Input[str]]:
    """Additional labels of all resources of a cluster."""
    return {key: as_input(args.labels[key]) for key in sorted(args.labels)}
