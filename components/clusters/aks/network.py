"""The network of the nodes, which have no public addresses and share one NAT gateway."""

from dataclasses import dataclass

import pulumi
from pulumi_azure_native import network

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.aks.addresses import DEFAULT_CIDR, nodes_subnet
from tensorplane.components.clusters.aks.context import Context

_IDLE_MINUTES = 10


@dataclass(frozen=True)
class NodeNetwork:
    """The nodes' network."""

    subnet: pulumi.Input[str]
    """Resource id of their subnet."""
    egress_addresses: list[pulumi.Output[str]]
    """Their public egress addresses, if they are created here."""
    vnet: network.VirtualNetwork | None = None
    """Their VNet, if it is created here."""


def node_network(context: Context) -> NodeNetwork:
    """A subnet of the settings, or a new one in a VNet of its own."""
    if context.args.network.subnet:
        return NodeNetwork(as_input(context.args.network.subnet), [])
    cidr = context.args.network.cidr or DEFAULT_CIDR
    vnet = network.VirtualNetwork(
        f"{context.name}-vnet", address_space={"address_prefixes": [cidr]}, opts=context.protected, **context.common
    )
    gateway, egress_addresses = _nat(context) if context.args.network.outbound == "natGateway" else (None, [])
    subnet = network.Subnet(
        f"{context.name}-nodes",
        resource_group_name=context.resource_group.name,
        virtual_network_name=vnet.name,
        subnet_name="nodes",
        address_prefix=nodes_subnet(cidr),
        default_outbound_access=False,
        nat_gateway={"id": gateway.id} if gateway else None,
        opts=context.protected,
    )
    return NodeNetwork(subnet.id, egress_addresses, vnet)


def storage_subnet(
    context: Context, vnet: network.VirtualNetwork, name: str, cidr: str, *, delegated_to: str | None, keep: bool
) -> network.Subnet:
    """A subnet for storage in the nodes' VNet."""
    delegation: network.DelegationArgsDict = {"name": name, "service_name": delegated_to}
    retained = pulumi.ResourceOptions(protect=keep, retain_on_delete=keep)
    return network.Subnet(
        f"{context.name}-{name}",
        resource_group_name=context.resource_group.name,
        virtual_network_name=vnet.name,
        subnet_name=name,
        address_prefix=cidr,
        default_outbound_access=False,
        delegations=[delegation] if delegated_to else None,
        opts=pulumi.ResourceOptions.merge(context.opts, retained),
    )


def _nat(context: Context) -> tuple[network.NatGateway, list[pulumi.Output[str]]]:
    address = network.PublicIPAddress(
        f"{context.name}-out",
        sku={"name": "Standard", "tier": "Regional"},
        public_ip_allocation_method="Static",
        opts=context.opts,
        **context.common,
    )
    gateway = network.NatGateway(
        f"{context.name}-nat",
        sku={"name": "Standard"},
        public_ip_addresses=[{"id": address.id}],
        idle_timeout_in_minutes=_IDLE_MINUTES,
        opts=context.opts,
        **context.common,
    )
    return gateway, [address.ip_address.apply(lambda found: found or "")]
