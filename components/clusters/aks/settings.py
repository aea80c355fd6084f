"""Settings of an AKS cluster, and properties derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components.base import stack_name
from tensorplane.components.base.model import In, Line, Model, Name, NonEmptyStr, Zones
from tensorplane.components.catalog import Cloud
from tensorplane.components.catalog import zones as known_zones
from tensorplane.components.clusters.aks.addresses import DEFAULT_CIDR
from tensorplane.components.clusters.aks.effects import EFFECTS
from tensorplane.components.clusters.effects import Effects
from tensorplane.components.clusters.settings import ClusterArgs, GpuSupport, TimeOfDay
from tensorplane.components.node_groups.cluster_properties import NodeTraits
from tensorplane.components.node_groups.taint import Taint

_CLASSES_OF_AKS = (
    "default",
    "managed",
    "managed-csi",
    "managed-csi-premium",
    "managed-premium",
    "azurefile",
    "azurefile-csi",
    "azurefile-csi-premium",
    "azurefile-premium",
)
"""StorageClasses that AKS creates, for managed disks and Azure Files."""


class Network(Model):
    """The cluster's network: a new VNet, or an existing subnet. Pods have their own address range (Azure CNI
    overlay)."""

    cidr: NonEmptyStr | None = None
    """CIDR of the new VNet; `10.0.0.0/16` by default. Nodes take a quarter of it, one address each."""
    subnet: In[NonEmptyStr] | None = None
    """Resource id of an existing subnet for the nodes, instead of a new VNet."""
    pod_cidr: NonEmptyStr = "10.240.0.0/12"
    """CIDR of pods. It must not overlap the VNet and its peers. Each node takes 256 addresses. A change replaces the
    cluster."""
    service_cidr: NonEmptyStr = "172.20.0.0/16"
    """CIDR of Kubernetes Services, /12 to /28. It must not overlap any other range. A change replaces the cluster."""
    outbound: Literal["natGateway", "loadBalancer", "routeTable"] = "natGateway"
    """How nodes reach the internet: a NAT gateway (in an existing subnet: the subnet's own), a load balancer, or your
    route table."""


class Endpoint(Model):
    """Who can reach the Kubernetes API server. Clients inside the VNet always can."""

    public: bool = False
    """Whether the API server has a public address, which deploying from outside the VNet requires. A change replaces
    the cluster."""
    allowed_cidrs: tuple[In[NonEmptyStr], ...] = ()
    """Public addresses that may reach the API server: your office, VPN or CI, and the egress addresses of an existing
    subnet. The whole internet is refused."""
    deploy_from_inside: bool = False
    """Whether the machine that runs `pulumi up` already reaches the new VNet, by a VPN or peering. It changes nothing
    in Azure."""


class Maintenance(Model):
    """Weekly window in which Azure may upgrade the cluster and the node images."""

    day: Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] = "Sunday"
    """Day of the week."""
    start: TimeOfDay = "02:00"
    """Start of the window, as HH:MM in UTC."""
    hours: Annotated[int, Field(ge=4, le=24)] = 8
    """Length of the window in hours."""


class AksSettings(ClusterArgs):
    """Settings of a cluster of kind `aks`."""

    region: NonEmptyStr
    """Azure location, such as westeurope."""
    subscription: In[NonEmptyStr] | None = None
    """Subscription id; by default that of `az login` or ARM_SUBSCRIPTION_ID."""
    name: Name | None = None
    """Name of the cluster and its resource group; `tensorplane-<stack>` by default. A change replaces the cluster."""
    version: NonEmptyStr = "1.35"
    """Kubernetes version of the control plane. Raise it by one minor version at a time; it cannot be lowered."""
    node_version: NonEmptyStr | None = None
    """Kubernetes version of the nodes; the control plane's by default. Set it to upgrade the control plane first."""
    support: Literal["standard", "longTerm"] = "standard"
    """Support plan. `longTerm` supports a version for two years, for a fee (tier Premium)."""
    upgrades: Literal["patch", "none"] = "patch"
    """Automatic upgrades. `patch` installs patch releases of Kubernetes. Node images get security updates in any case.
    """
    maintenance: Maintenance = Maintenance()
    """When Azure may upgrade the cluster."""
    zones: Zones | None = None
    """Zones of node groups that name none. By default, groups without accelerators use all zones of the location, and
    groups with accelerators use none, because few zones have their machines. `[]` uses no zones for all groups. A
    change replaces the node pools."""
    system_group: Name | None = None
    """Node group that is the system node pool, which AKS creates with the cluster. Required if several groups qualify.
    It cannot change later."""
    network: Network = Network()
    """The network; a new VNet by default."""
    endpoint: Endpoint = Endpoint()
    """Who can reach the API server; only clients inside the VNet by default."""
    admins: dict[Name, In[NonEmptyStr]] = Field(default_factory=dict)
    """Entra groups (object ids) that are cluster administrators, keyed by a name of your choice. Everyone who deploys
    must be in one of them, unless `inheritedAdmins` is true."""
    inherited_admins: bool = False
    """Whether everyone who deploys already has the role Azure Kubernetes Service RBAC Cluster Admin from the
    subscription or a management group. `admins` may then be empty. It changes nothing in Azure."""
    log_retention_days: Annotated[int, Field(ge=30, le=730)] = 90
    """Days to keep the control plane's logs, including audit logs."""
    deletion_protection: bool = True
    """Whether cluster, network and keys are protected from deletion. Set it to false and deploy before you destroy the
    stack."""
    tags: dict[NonEmptyStr, In[Line]] = Field(default_factory=dict)
    """Additional tags of all Azure resources."""

    effects: ClassVar[Effects | None] = EFFECTS
    controllers: ClassVar[frozenset[str]] = frozenset({"metrics_server"})
    default_disks: ClassVar[str | None] = "managed disks"
    # Disks of AKS' default classes are zone-redundant in a cluster with several zones.
    disks_are_zonal: ClassVar[bool] = False
    node_traits: ClassVar[NodeTraits] = NodeTraits(
        spot_taints=(Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule", by_cloud=True, spot=True),),
        label_domains=frozenset({"kubernetes.azure.com"}),
        taint_domains=frozenset({"kubernetes.azure.com"}),
    )
    # AKS installs the driver and configures MIG per node pool; the plugin is the user's. The operator never gets
    # ready with AKS' driver and toolkit, so Microsoft recommends node pools without both
    # (learn.microsoft.com/azure/aks/nvidia-gpu-operator, July 2025).
    gpu_support: ClassVar[GpuSupport] = GpuSupport(
        ("plugin", "operator", "present"), driver=True, left_to_operator=True
    )
    catalog: ClassVar[Cloud | None] = "aks"

    def load_balancer(self, *, public: bool) -> Mapping[str, str] | None:
        return {} if public else {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}

    @property
    def catalog_region(self) -> str | None:
        return self.region

    @property
    def storage_classes(self) -> tuple[str, ...]:
        return _CLASSES_OF_AKS

    @property
    def default_zones(self) -> tuple[str, ...]:
        """Zones of node groups without accelerators that name none."""
        return known_zones("aks", self.region) if self.zones is None else self.zones

    @property
    def node_zones(self) -> tuple[str, ...]:
        return known_zones("aks", self.region)

    @property
    def existing_network(self) -> bool:
        return self.network.subnet is not None

    @property
    def network_cidr(self) -> str | None:
        return None if self.existing_network else self.network.cidr or DEFAULT_CIDR

    @property
    def cluster_name(self) -> str:
        """Name of the cluster and its resource group in Azure."""
        return self.name or f"tensorplane-{stack_name.current()}"
