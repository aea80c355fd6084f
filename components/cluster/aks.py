"""AKS: the settings of a cluster on Azure. Its checks and its resources are in `components/aks`."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

import pulumi
from pydantic import AfterValidator, Field

from components.catalog import Cloud
from components.catalog import zones as known_zones
from components.cluster import ClusterArgs, Connection, missing_groups
from components.faults import Fault
from components.model import Filled, Line, Model, Name, refuse
from components.node_group import Shape

DEFAULT_CIDR = "10.0.0.0/16"
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


class Network(Model):
    """The cluster's network: a new VNet, or a subnet of yours. Pods have addresses of their own (Azure CNI overlay)."""

    cidr: Filled | None = None
    """Addresses of the new VNet; `10.0.0.0/16` by default. Nodes take a quarter of them, one address each."""
    subnet: Filled | None = None
    """Resource id of a subnet of yours for the nodes, instead of a new VNet."""
    pod_cidr: Filled = "10.240.0.0/12"
    """Addresses of pods, apart from the VNet's and its peers'. Each node takes 256. A change replaces the cluster."""
    service_cidr: Filled = "172.20.0.0/16"
    """Addresses of Kubernetes services, /12 to /28, apart from all others. A change replaces the cluster."""
    outbound: Literal["natGateway", "loadBalancer", "routeTable"] = "natGateway"
    """The nodes' way out: a NAT gateway (in a subnet of yours: its own), a load balancer, or the routes of yours."""


class Endpoint(Model):
    """Who reaches the cluster's API server. Everything inside the VNet does."""

    public: bool = False
    """Whether it can be reached from outside the VNet, which deploying from there needs. A change replaces the
    cluster."""
    allowed_cidrs: tuple[Filled, ...] = ()
    """Public addresses that are let in: those of your office, VPN or CI, and those with which nodes leave a subnet of
    yours. Never everybody."""
    deploy_from_inside: bool = False
    """Whether `pulumi up` runs where it reaches a new VNet: a VPN or a peering leads there already. Azure is told
    nothing of it."""


def _time(value: str) -> str:
    if not _TIME.fullmatch(value):
        padded = ":".join(part.zfill(2) for part in value.split(":"))
        refuse("a time of day as HH:MM, such as 02:00", padded if _TIME.fullmatch(padded) else "")
    return value


class Maintenance(Model):
    """When Azure may upgrade the cluster and its nodes' system: once a week."""

    day: Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] = "Sunday"
    """Day of the week."""
    start: Annotated[str, AfterValidator(_time)] = "02:00"
    """When it begins, as HH:MM in UTC."""
    hours: Annotated[int, Field(ge=4, le=24)] = 8
    """For how long."""


class Aks(ClusterArgs):
    """A new cluster on Azure. Credentials and subscription are those of `az login`, or of ARM_* variables."""

    kind: Literal["aks"] = "aks"

    region: Filled
    """Azure location, such as westeurope."""
    subscription: Filled | None = None
    """Id of the subscription; that of `az login`, or of ARM_SUBSCRIPTION_ID, by default."""
    name: Name | None = None
    """Name of the cluster and its resource group; `tensorplane-<stack>` by default. A change replaces the cluster."""
    version: Filled = "1.35"
    """Kubernetes version of the control plane. It goes up by one minor version at a time, never down."""
    node_version: Filled | None = None
    """Kubernetes version of the nodes; the control plane's by default. To upgrade in two steps, hold it back."""
    support: Literal["standard", "longTerm"] = "standard"
    """`longTerm` keeps a version for two years, for a fee (tier Premium)."""
    upgrades: Literal["patch", "none"] = "patch"
    """Whether Azure installs patch releases of Kubernetes by itself. Nodes get security updates in any case."""
    maintenance: Maintenance = Maintenance()
    """When Azure upgrades."""
    zones: tuple[Filled, ...] | None = None
    """Zones of node groups that name none; by default those that the catalog knows in the location. [] is none."""
    system_group: Name | None = None
    """Node group of the cluster's own pods, which Azure makes with the cluster. To be named where more than one group
    could be it, as another one cannot take its place later."""
    network: Network = Network()
    """The network: a new VNet by default."""
    endpoint: Endpoint = Endpoint()
    """Who reaches the API server: only the VNet by default."""
    admins: Annotated[dict[Name, Filled], Field(default_factory=dict)]
    """Entra groups (object ids) with all rights in the cluster, by a name of yours. Whoever deploys needs them."""
    log_retention_days: Annotated[int, Field(ge=30, le=730)] = 90
    """Days for which the control plane's logs are kept, audit logs among them."""
    deletion_protection: bool = True
    """Whether cluster, network and keys cannot be deleted. Set it to false, and `up`, before you destroy the stack."""
    tags: Annotated[dict[Filled, Line], Field(default_factory=dict)]
    """More tags of everything that is created in Azure."""

    default_disks: ClassVar[str | None] = "managed disks"
    catalog: ClassVar[Cloud | None] = "aks"

    @property
    def place(self) -> str | None:
        return self.region

    @property
    def default_zones(self) -> tuple[str, ...]:
        """Zones of node groups that name none."""
        return known_zones("aks", self.region) if self.zones is None else self.zones

    @property
    def cluster_name(self) -> str:
        """Name of the cluster and its resource group in Azure."""
        return self.name or f"tensorplane-{pulumi.get_stack()}"

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Fault]:
        from components.aks import check_cluster, check_groups, check_network

        yield from check_cluster.faults(self)
        yield from check_network.faults(self, groups)
        yield from missing_groups(groups)
        yield from check_groups.faults(self, groups)

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of Azure.
        from components.aks import whole

        return whole.connect(self, name, groups, opts)
