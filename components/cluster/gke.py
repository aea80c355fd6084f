"""GKE: the settings of a cluster on Google Cloud. Its checks and its resources are in `components/gke`."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

import pulumi
from pydantic import Field

from components import catalog
from components.catalog import Cloud
from components.cluster import ClusterArgs, Connection, missing_groups
from components.faults import Fault
from components.model import Filled, Line, Model
from components.node_group import Shape
from components.queue import topology

_USUAL_ZONES = 3

Day = Literal["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


class GkeSubnet(Model):
    """A network of yours. Its nodes need a way out (Cloud NAT) and Private Google Access."""

    network: Filled
    """The VPC network: its name, or its full path where it belongs to another project (Shared VPC)."""
    subnetwork: Filled
    """The subnetwork of the nodes, in the cluster's region."""
    pods_range: Filled
    """Name of the subnetwork's secondary range for pods."""
    services_range: Filled
    """Name of the subnetwork's secondary range for services."""


class GkeNetwork(Model):
    """The cluster's network: a new one with one subnet in the region, or one of yours."""

    cidr: Filled = "10.0.0.0/20"
    """Addresses of the nodes. It can grow later, and never shrink."""
    pod_cidr: Filled = "10.4.0.0/14"
    """Addresses of the pods; each node takes twice as many as it may run pods, rounded up to a power of two."""
    service_cidr: Filled = "10.8.0.0/20"
    """Addresses of Kubernetes services."""
    control_plane_cidr: Filled | None = None
    """Addresses of the control plane, a /28 that nothing else has; by default it takes one from the nodes'."""
    existing: GkeSubnet | None = None
    """A network of yours instead of a new one."""


class GkeEndpoint(Model):
    """Who reaches the cluster's API server. Everything inside the network does, and everybody has to log in."""

    dns: bool = True
    """Whether its DNS name answers from outside the network; IAM decides about each request before it arrives."""
    public: bool = False
    """Whether it has a public IP address as well."""
    allowed_cidrs: tuple[Filled, ...] = ()
    """Networks that are let in to its IP addresses: those of your office, VPN or CI. Never everybody."""


class GkeMaintenance(Model):
    """When Google may upgrade the cluster, in UTC. GKE needs 48 hours of it in 32 days."""

    days: Annotated[tuple[Day, ...], Field(min_length=1)] = ("SA", "SU")
    """Days of the week on which the window opens."""
    start: Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")] = "02:00"
    """Time at which it opens."""
    hours: Annotated[int, Field(ge=4, le=24)] = 6
    """Hours for which it stays open."""


class Gke(ClusterArgs):
    """A new cluster on Google Cloud. Credentials come from where Google's own tools take them."""

    kind: Literal["gke"] = "gke"

    project: Filled
    """Id of the Google Cloud project."""
    region: Filled
    """Google Cloud region, such as us-central1. Control plane and nodes are spread over its zones."""
    zones: tuple[Filled, ...] = ()
    """Zones of nodes; by default the region's first three, and for accelerators all that sell them."""
    name: Filled | None = None
    """The cluster's name in Google Cloud; `tensorplane-<stack>` by default. A change replaces the cluster."""
    channel: Literal["rapid", "regular", "stable", "extended"] = "regular"
    """Release channel: how early Google upgrades the cluster, always inside the maintenance window."""
    version: Filled | None = None
    """Oldest Kubernetes version that will do, such as 1.35 or 1.35.2-gke.1485000; the channel's by default."""
    network: GkeNetwork = GkeNetwork()
    """The network: a new one, with Cloud NAT as the nodes' only way out, by default."""
    endpoint: GkeEndpoint = GkeEndpoint()
    """Who reaches the API server."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Pods of each node at most. A change replaces the cluster."""
    maintenance: GkeMaintenance = GkeMaintenance()
    """When Google may upgrade the cluster; Saturday and Sunday from 02:00 to 08:00 UTC by default."""
    gpu_driver: Literal["default", "latest"] = "default"
    """NVIDIA driver of the GPU nodes, installed by GKE: the one tested with their version, or the newest."""
    encryption_key: Filled | None = None
    """Cloud KMS key that encrypts Kubernetes secrets (projects/…/cryptoKeys/…); a new one, rotated, by default."""
    lustre: bool = False
    """Whether the nodes have the driver of Managed Lustre, and kernels that take its modules, which Google signs.
    Volumes of kind managedLustre need it; the node pools are upgraded when it changes."""
    deletion_protection: bool = True
    """Whether the cluster refuses to be deleted. Set it to false, and `up`, before you destroy the stack."""
    labels: Annotated[dict[Filled, Line], Field(default_factory=dict)]
    """More labels of everything that is created in Google Cloud, for bills."""

    default_disks: ClassVar[str | None] = "Persistent Disks"
    catalog: ClassVar[Cloud | None] = "gke"
    network_levels: ClassVar[Mapping[str, str]] = {
        "zone": topology.ZONE,
        "block": "cloud.google.com/gce-topology-block",
        "subblock": "cloud.google.com/gce-topology-subblock",
        "host": topology.HOST,
    }
    automatic_taints: ClassVar[frozenset[str]] = frozenset({"nvidia.com/gpu", "google.com/tpu"})
    class_label: ClassVar[str | None] = "cloud.google.com/compute-class"

    @property
    def place(self) -> str | None:
        return self.region

    @property
    def cluster_name(self) -> str:
        """The cluster's name in Google Cloud."""
        return self.name or f"tensorplane-{pulumi.get_stack()}"

    @property
    def usual_zones(self) -> tuple[str, ...]:
        """Zones of nodes that any zone has; none where neither settings nor catalog know them."""
        return self.zones or catalog.zones("gke", self.region)[:_USUAL_ZONES]

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Fault]:
        from components.gke import check_cluster, check_groups, check_rental

        yield from check_cluster.faults(self, groups)
        yield from missing_groups(groups)
        yield from check_groups.faults(self, groups)
        yield from check_rental.faults(groups)

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of Google Cloud.
        from components.gke import whole

        return whole.connect(self, name, groups, opts)
