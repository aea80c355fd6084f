"""The cluster's network: a VPC with one subnet and Cloud NAT for egress, or an existing one."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import compute

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.gke.settings import GkeSettings

_PODS, _SERVICES = "pods", "services"


@dataclass(frozen=True)
class Network:
    """The nodes' network, and resources that must exist before nodes."""

    network: pulumi.Input[str]
    subnetwork: pulumi.Input[str]
    pods_range: pulumi.Input[str]
    services_range: pulumi.Input[str]
    ready: Sequence[pulumi.Resource] = ()


def create(name: str, args: GkeSettings, compute_api: pulumi.Resource, opts: pulumi.ResourceOptions) -> Network:
    """The network of the settings."""
    mine = args.network.existing
    if mine:
        return Network(
            as_input(mine.network),
            as_input(mine.subnetwork),
            as_input(mine.pods_range),
            as_input(mine.services_range),
        )
    vpc = compute.Network(
        f"{name}-network",
        name=args.cluster_name,
        auto_create_subnetworks=False,
        routing_mode="REGIONAL",
        description=f"Nodes and pods of the GKE cluster {args.cluster_name}",
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[compute_api])),
    )
    subnet = compute.Subnetwork(
        f"{name}-subnet",
        name=args.cluster_name,
        network=vpc.id,
        region=args.region,
        ip_cidr_range=args.network.cidr,
        secondary_ip_ranges=[
            {"range_name": _PODS, "ip_cidr_range": args.network.pod_cidr},
            {"range_name": _SERVICES, "ip_cidr_range": args.network.service_cidr},
        ],
        # Images and Google's APIs are reached without NAT and its costs.
        private_ip_google_access=True,
        log_config={
            "aggregation_interval": "INTERVAL_10_MIN",
            "flow_sampling": 0.1,
            "metadata": "INCLUDE_ALL_METADATA",
        },
        opts=opts,
    )
    return Network(vpc.id, subnet.id, _PODS, _SERVICES, [_way_out(name, args, vpc, subnet, opts)])


def _way_out(
    name: str, args: GkeSettings, vpc: compute.Network, subnet: compute.Subnetwork, opts: pulumi.ResourceOptions
) -> compute.RouterNat:
    router = compute.Router(f"{name}-router", name=args.cluster_name, network=vpc.id, region=args.region, opts=opts)
    return compute.RouterNat(
        f"{name}-nat",
        name=args.cluster_name,
        router=router.name,
        region=args.region,
        nat_ip_allocate_option="AUTO_ONLY",
        source_subnetwork_ip_ranges_to_nat="LIST_OF_SUBNETWORKS",
        subnetworks=[{"name": subnet.id, "source_ip_ranges_to_nats": ["ALL_IP_RANGES"]}],
        # A node that pulls many layers at once requires more than the default 64 ports.
        enable_dynamic_port_allocation=True,
        enable_endpoint_independent_mapping=False,
        min_ports_per_vm=128,
        log_config={"enable": True, "filter": "ERRORS_ONLY"},
        opts=opts,
    )
