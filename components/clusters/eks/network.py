"""The cluster's network: a VPC with a private and a public subnet in each zone, or the user's own subnets."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks.addresses import DEFAULT_CIDR, private_subnet, public_subnet
from tensorplane.components.clusters.eks.context import Context

_ALL_ADDRESSES = "0.0.0.0/0"


@dataclass(frozen=True)
class Subnets:
    """The private subnets by zone, and the resources for their egress."""

    by_zone: Mapping[str, pulumi.Input[str]]
    routes: tuple[pulumi.Resource, ...] = ()

    def of(self, zones: tuple[str, ...]) -> list[pulumi.Input[str]]:
        """The subnets of these zones."""
        return [self.by_zone[zone] for zone in zones]


def subnets(context: Context) -> Subnets:
    """The subnets that the settings name, or those of a new VPC."""
    own = context.args.network.subnets
    return Subnets({zone: as_input(own[zone]) for zone in sorted(own)}) if own else _new(context)


def _new(context: Context) -> Subnets:
    cidr = context.args.network.cidr or DEFAULT_CIDR
    vpc = aws.ec2.Vpc(
        context.name,
        cidr_block=cidr,
        # Private endpoints, EFS and FSx have DNS names in the VPC.
        enable_dns_hostnames=True,
        enable_dns_support=True,
        tags={"Name": context.cluster_name},
        opts=context.opts,
    )
    # Adopted to remove its rules, which allow traffic between all resources without a security group.
    aws.ec2.DefaultSecurityGroup(context.name, vpc_id=vpc.id, opts=context.opts)
    gateway = aws.ec2.InternetGateway(context.name, vpc_id=vpc.id, opts=context.opts)
    outside = _public(context, vpc, gateway, cidr)
    tables = {}
    by_zone: dict[str, pulumi.Input[str]] = {}
    routes: list[pulumi.Resource] = []
    for zone in context.args.subnet_zones:
        subnet = aws.ec2.Subnet(
            f"{context.name}-private-{zone}",
            vpc_id=vpc.id,
            availability_zone=zone,
            cidr_block=private_subnet(cidr, zone[-1]),
            tags={"Name": f"{context.cluster_name}-private-{zone}", "kubernetes.io/role/internal-elb": "1"},
            opts=context.opts,
        )
        table = aws.ec2.RouteTable(f"{context.name}-private-{zone}", vpc_id=vpc.id, opts=context.opts)
        routes += [
            aws.ec2.Route(
                f"{context.name}-private-{zone}",
                route_table_id=table.id,
                destination_cidr_block=_ALL_ADDRESSES,
                nat_gateway_id=outside.get(zone, next(iter(outside.values()))).id,
                opts=context.opts,
            ),
            _association(context, f"private-{zone}", subnet, table),
        ]
        tables[zone], by_zone[zone] = table, subnet.id
    aws.ec2.VpcEndpoint(
        f"{context.name}-s3",
        vpc_id=vpc.id,
        # A gateway endpoint for S3, because NAT gateways charge for each GiB.
        service_name=f"com.amazonaws.{context.region}.s3",
        vpc_endpoint_type="Gateway",
        route_table_ids=[table.id for table in tables.values()],
        opts=context.opts,
    )
    return Subnets(by_zone, tuple(routes))


def _public(
    context: Context, vpc: aws.ec2.Vpc, gateway: aws.ec2.InternetGateway, cidr: str
) -> dict[str, aws.ec2.NatGateway]:
    """The public subnets for load balancers and NAT gateways. Returns the NAT gateways by zone."""
    table = aws.ec2.RouteTable(f"{context.name}-public", vpc_id=vpc.id, opts=context.opts)
    route = aws.ec2.Route(
        f"{context.name}-public",
        route_table_id=table.id,
        destination_cidr_block=_ALL_ADDRESSES,
        gateway_id=gateway.id,
        opts=context.opts,
    )
    gateways: dict[str, aws.ec2.NatGateway] = {}
    for zone in context.args.subnet_zones:
        subnet = aws.ec2.Subnet(
            f"{context.name}-public-{zone}",
            vpc_id=vpc.id,
            availability_zone=zone,
            cidr_block=public_subnet(cidr, zone[-1]),
            tags={"Name": f"{context.cluster_name}-public-{zone}", "kubernetes.io/role/elb": "1"},
            opts=context.opts,
        )
        _association(context, f"public-{zone}", subnet, table)
        if gateways and context.args.network.nat == "single":
            continue
        address = aws.ec2.Eip(f"{context.name}-nat-{zone}", domain="vpc", opts=context.opts)
        gateways[zone] = aws.ec2.NatGateway(
            f"{context.name}-{zone}",
            subnet_id=subnet.id,
            allocation_id=address.id,
            opts=context.after(route),
        )
    return gateways


def _association(
    context: Context, key: str, subnet: aws.ec2.Subnet, table: aws.ec2.RouteTable
) -> aws.ec2.RouteTableAssociation:
    return aws.ec2.RouteTableAssociation(
        f"{context.name}-{key}", subnet_id=subnet.id, route_table_id=table.id, opts=context.opts
    )
