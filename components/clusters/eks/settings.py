"""Settings of an EKS cluster, and properties derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from tensorplane.components import catalog
from tensorplane.components.base import stack_name
from tensorplane.components.base.labels import HOSTNAME, ZONE
from tensorplane.components.base.model import In, Line, Model, Name, NonEmptyStr, Zones
from tensorplane.components.catalog import Cloud
from tensorplane.components.clusters.effects import Effects
from tensorplane.components.clusters.eks import placement
from tensorplane.components.clusters.eks.addresses import DEFAULT_CIDR
from tensorplane.components.clusters.eks.effects import EFFECTS
from tensorplane.components.clusters.settings import ClusterArgs, GpuSupport
from tensorplane.components.node_groups.cluster_properties import NodeTraits
from tensorplane.components.node_groups.shape import Shape

_ZONES = 3

LogDays = Literal[1, 3, 7, 14, 30, 60, 90, 120, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653]


class EksNetwork(Model):
    """The cluster's network: a new VPC, or existing subnets."""

    cidr: NonEmptyStr | None = None
    """CIDR of the new VPC, /16 to /22; `10.0.0.0/16` by default. Every pod takes one address."""
    nat: Literal["perZone", "single"] | None = None
    """NAT gateways of the new VPC. `perZone` (the default) survives the loss of a zone; `single` costs less."""
    subnets: dict[NonEmptyStr, In[NonEmptyStr]] = Field(default_factory=dict)
    """Existing private subnets instead of a new VPC, keyed by zone: `us-west-2a: subnet-…`. At least two, with a route
    to the internet."""
    service_cidr: NonEmptyStr = "172.20.0.0/16"
    """CIDR of Kubernetes Services, /12 to /24. It must not overlap the VPC. A change replaces the cluster."""


class EksEndpoint(Model):
    """Who can reach the Kubernetes API server. Clients inside the VPC always can."""

    public: bool = False
    """Whether the API server has a public address, which deploying from outside the VPC requires."""
    allowed_cidrs: tuple[In[NonEmptyStr], ...] = ()
    """Public addresses that may reach the API server: your office, VPN or CI. The whole internet is refused."""
    deploy_from_inside: bool = False
    """Whether the machine that runs `pulumi up` already reaches the new VPC, by a VPN or peering. It changes nothing in
    AWS."""


class EksSettings(ClusterArgs):
    """Settings of a cluster of kind `eks`."""

    region: NonEmptyStr
    """AWS region, such as us-west-2."""
    zones: Zones = ()
    """Zones of the new VPC, and of groups that name none; at least two. By default the region's first three, if EKS
    supports them. The control plane and existing groups keep their zones."""
    name: Name | None = None
    """Name of the cluster in AWS; `tensorplane-<stack>` by default. A change replaces the cluster."""
    version: NonEmptyStr = "1.35"
    """Kubernetes version of the control plane. Raise it by one minor version at a time; it cannot be lowered."""
    node_version: NonEmptyStr | None = None
    """Kubernetes version of the nodes; the control plane's by default. Set it to upgrade the control plane first."""
    support: Literal["standard", "extended"] = "standard"
    """Support policy at the end of a version's standard support: `standard` upgrades automatically, `extended` keeps
    the version, for a fee."""
    network: EksNetwork = EksNetwork()
    """The network; a new VPC over three zones by default."""
    endpoint: EksEndpoint = EksEndpoint()
    """Who can reach the API server; only clients inside the VPC by default."""
    admins: dict[Name, In[NonEmptyStr]] = Field(default_factory=dict)
    """IAM roles or users that are cluster administrators, keyed by a name of your choice. The principal that creates
    the cluster always is one."""
    addons: dict[NonEmptyStr, NonEmptyStr] = Field(default_factory=dict)
    """Versions of EKS add-ons by name, or `default` for the version that EKS chooses. Add-ons that are not listed are
    pinned for 1.35."""
    log_retention_days: LogDays = 90
    """Days to keep the control plane's logs, including audit logs."""
    deletion_protection: bool = True
    """Whether AWS refuses to delete the cluster. Set it to false and deploy before you destroy the stack."""
    tags: dict[NonEmptyStr, In[Line]] = Field(default_factory=dict)
    """Additional tags of all AWS resources."""

    api_server_is_private: ClassVar[bool] = True
    effects: ClassVar[Effects | None] = EFFECTS
    default_disks: ClassVar[str | None] = "EBS disks"
    catalog: ClassVar[Cloud | None] = "eks"
    node_traits: ClassVar[NodeTraits] = NodeTraits(
        label_domains=frozenset({"eks.amazonaws.com", "karpenter.sh", "karpenter.k8s.aws"}),
        taint_domains=frozenset({"karpenter.sh"}),
        provisioner=True,
        replaces_by_age=True,
        capacity_blocks=True,
    )
    # AL2023's NVIDIA image has no device plugin and does not create MIG instances.
    gpu_support: ClassVar[GpuSupport] = GpuSupport(("plugin", "operator", "present"), driver=True, divided=False)
    network_levels: ClassVar[Mapping[str, str]] = {
        "zone": ZONE,
        "spine": "topology.k8s.aws/network-node-layer-1",
        "block": "topology.k8s.aws/network-node-layer-2",
        "leaf": "topology.k8s.aws/network-node-layer-3",
        "host": HOSTNAME,
    }

    def load_balancer(self, *, public: bool) -> Mapping[str, str] | None:
        # The first two are for the load balancers of EKS itself, the last for AWS Load Balancer Controller.
        prefix = "service.beta.kubernetes.io/aws-load-balancer"
        internal = {} if public else {f"{prefix}-internal": "true"}
        return {f"{prefix}-type": "nlb", **internal, f"{prefix}-scheme": "internet-facing" if public else "internal"}

    @property
    def catalog_region(self) -> str | None:
        return self.region

    @property
    def storage_classes(self) -> tuple[str, ...]:
        # The stack's default class, and EKS' own, which is not the default.
        return ("gp3", "gp2")

    @property
    def cluster_name(self) -> str:
        """Name of the cluster in AWS."""
        return self.name or f"tensorplane-{stack_name.current()}"

    @property
    def subnet_zones(self) -> tuple[str, ...]:
        """Zones with a subnet of the cluster. Adding one changes no other."""
        if self.network.subnets:
            return tuple(sorted(self.network.subnets))
        known = catalog.zones("eks", self.region) or tuple(f"{self.region}{letter}" for letter in "abc")
        return self.zones or known[:_ZONES]

    @property
    def node_zones(self) -> tuple[str, ...]:
        return self.subnet_zones

    @property
    def existing_network(self) -> bool:
        return bool(self.network.subnets)

    @property
    def network_cidr(self) -> str | None:
        return None if self.existing_network else self.network.cidr or DEFAULT_CIDR

    @property
    def network_resources(self) -> frozenset[str]:
        return frozenset({placement.EFA})

    def network_of_whole_node(self, shape: Shape) -> Mapping[str, str]:
        return placement.efa_of_pod(shape)

    def undisturbed(self, shape: Shape) -> Mapping[str, str]:
        return {"karpenter.sh/do-not-disrupt": "true"} if shape.args.max_age_days else {}
