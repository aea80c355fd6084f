"""EKS: the settings of a cluster on AWS. Its checks and its resources are in `components/eks`."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

import pulumi
from pydantic import Field

from components import catalog
from components.catalog import Cloud
from components.cluster import ClusterArgs, Connection, missing_groups
from components.eks import check_addresses, check_cluster, check_groups, placement
from components.faults import Fault, without_consequences
from components.model import Filled, Line, Model, Name
from components.node_group import Shape
from components.queue import topology

_ZONES = 3

LogDays = Literal[1, 3, 7, 14, 30, 60, 90, 120, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653]


class EksNetwork(Model):
    """The cluster's network: a new VPC, or subnets of yours."""

    cidr: Filled | None = None
    """Addresses of the new VPC, /16 to /22; `10.0.0.0/16` by default. Every pod takes one of them."""
    nat: Literal["perZone", "single"] | None = None
    """NAT gateways of the new VPC: `perZone` (the default) survives the loss of a zone, `single` costs less."""
    subnets: Annotated[dict[Filled, Filled], Field(default_factory=dict)]
    """Private subnets of yours instead of a new VPC, by zone: `us-west-2a: subnet-…`. At least two, with a way out."""
    service_cidr: Filled = "172.20.0.0/16"
    """Addresses of Kubernetes services, /12 to /24, apart from the VPC's. A change replaces the cluster."""


class EksEndpoint(Model):
    """Who reaches the cluster's API server. Everything inside the VPC does."""

    public: bool = False
    """Whether it can be reached from outside the VPC, which deploying from outside the VPC needs."""
    allowed_cidrs: tuple[Filled, ...] = ()
    """Public addresses that are let in from outside: those of your office, VPN or CI. Never everybody."""
    deploy_from_inside: bool = False
    """Whether `pulumi up` runs where it reaches a new VPC: a VPN or a peering leads there already. AWS is told nothing
    of it."""


class Eks(ClusterArgs):
    """A new cluster on AWS. Credentials come from where AWS' own tools take them."""

    kind: Literal["eks"] = "eks"

    region: Filled
    """AWS region, such as us-west-2."""
    zones: tuple[Filled, ...] = ()
    """Zones of the new VPC and of groups that name none, at least two; the region's first three by default, where it is
    known that EKS takes them. Control plane and groups stay in those that they began with."""
    name: Name | None = None
    """The cluster's name in AWS; `tensorplane-<stack>` by default. A change replaces the cluster."""
    version: Filled = "1.35"
    """Kubernetes version of the control plane. It goes up by one minor version at a time, never down."""
    node_version: Filled | None = None
    """Kubernetes version of the nodes; the control plane's by default. To upgrade in two steps, hold it back."""
    support: Literal["standard", "extended"] = "standard"
    """At the end of a version's standard support: `standard` upgrades by itself, `extended` stays, for a fee."""
    network: EksNetwork = EksNetwork()
    """The network: a new VPC over three zones by default."""
    endpoint: EksEndpoint = EksEndpoint()
    """Who reaches the API server: only the VPC by default."""
    admins: Annotated[dict[Name, Filled], Field(default_factory=dict)]
    """IAM roles or users with all rights in the cluster, by a name of yours. Whoever creates it is one in any case."""
    addons: Annotated[dict[Filled, Filled], Field(default_factory=dict)]
    """Versions of EKS add-ons by name, or `default`: EKS' own choice. Those that are not named are pinned for 1.35."""
    log_retention_days: LogDays = 90
    """Days for which the control plane's logs are kept, audit logs among them."""
    deletion_protection: bool = True
    """Whether AWS refuses to delete the cluster. Set it to false, and `up`, before you destroy the stack."""
    tags: Annotated[dict[Filled, Line], Field(default_factory=dict)]
    """More tags of everything that is created in AWS."""

    default_disks: ClassVar[str | None] = "EBS disks"
    catalog: ClassVar[Cloud | None] = "eks"
    network_levels: ClassVar[Mapping[str, str]] = {
        "zone": topology.ZONE,
        "spine": "topology.k8s.aws/network-node-layer-1",
        "block": "topology.k8s.aws/network-node-layer-2",
        "leaf": "topology.k8s.aws/network-node-layer-3",
        "host": topology.HOST,
    }

    @property
    def place(self) -> str | None:
        return self.region

    @property
    def cluster_name(self) -> str:
        """The cluster's name in AWS."""
        return self.name or f"tensorplane-{pulumi.get_stack()}"

    @property
    def subnet_zones(self) -> tuple[str, ...]:
        """Zones that have a subnet of the cluster's. One more moves nothing."""
        if self.network.subnets:
            return tuple(sorted(self.network.subnets))
        known = catalog.zones("eks", self.region) or tuple(f"{self.region}{letter}" for letter in "abc")
        return self.zones or known[:_ZONES]

    def network_of_whole_node(self, shape: Shape) -> Mapping[str, str]:
        return placement.efa_of_pod(shape)

    def undisturbed(self, shape: Shape) -> Mapping[str, str]:
        return {"karpenter.sh/do-not-disrupt": "true"} if shape.args.max_age_days else {}

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Fault]:
        wrong = list(check_cluster.faults(self))
        yield from wrong
        yield from missing_groups(groups)
        of_groups = (*check_groups.faults(self, groups), *check_addresses.faults(self, groups))
        yield from without_consequences(of_groups, wrong)

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of AWS.
        from components.eks import creation

        return creation.connect(self, name, groups, opts)
