"""Access of nodes to Managed Lustre, whose network is peered with the cluster's own."""

from collections.abc import Sequence

import pulumi
from pulumi_gcp import compute, servicenetworking

from components.clusters.component import Cluster
from components.clusters.gke import access
from components.clusters.gke.native import Native

_PREFIX_LENGTH = 20
"""As in Google's guide (GKE, "Access Managed Lustre"). Google picks a free range of this size."""
_LNET = "988"


def connect(cluster: Cluster) -> Sequence[pulumi.Resource]:
    """Private services access and a firewall rule for the servers. An existing network must have both."""
    native: Native = cluster.native
    inside = pulumi.ResourceOptions(parent=cluster, provider=native.provider)
    api = access.switched_on(cluster.name, "lustre", inside)
    if native.args.network.existing:
        return [api]
    name = f"{cluster.name}-services"
    joins = access.switched_on(cluster.name, "servicenetworking", inside)
    addresses = compute.GlobalAddress(
        name,
        purpose="VPC_PEERING",
        address_type="INTERNAL",
        prefix_length=_PREFIX_LENGTH,
        network=native.network.network,
        opts=inside,
    )
    connection = servicenetworking.Connection(
        name,
        network=native.network.network,
        service="servicenetworking.googleapis.com",
        reserved_peering_ranges=[addresses.name],
        # Google refuses to delete it until days after the last service was deleted.
        deletion_policy="ABANDON",
        opts=pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=[joins])),
    )
    firewall = compute.Firewall(
        f"{cluster.name}-lustre",
        network=native.network.network,
        description=f"Servers of Managed Lustre to the nodes of the GKE cluster {cluster.name}",
        direction="INGRESS",
        source_ranges=[pulumi.Output.format("{0}/{1}", addresses.address, addresses.prefix_length)],
        allows=[{"protocol": "tcp", "ports": [_LNET]}],
        opts=inside,
    )
    return [api, connection, firewall]
