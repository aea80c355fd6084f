"""Node groups as agent pools, in addition to the system node pool."""

import pulumi
from pulumi_azure_native import containerservice

from components.clusters.aks.context import Context
from components.clusters.aks.control_plane import pool_properties
from components.clusters.aks.network import Nodes
from components.clusters.aks.pool_properties import pool_name
from components.node_groups.component import NodeGroup

# Immutable properties that the SDK does not know (besides machine and MIG profile); a change replaces the pool.
_FIXED = (
    "availabilityZones",
    "capacityReservationGroupID",
    "gpuProfile",
    "osDiskSizeGB",
    "scaleSetPriority",
    "vnetSubnetID",
)


def node_pool(
    context: Context, cluster: containerservice.ManagedCluster, nodes: Nodes, group: NodeGroup
) -> containerservice.AgentPool:
    """The group's pool."""
    options = pulumi.ResourceOptions(
        parent=group,
        ignore_changes=["count"],  # owned by the autoscaler
        replace_on_changes=list(_FIXED),
        delete_before_replace=True,  # the name must be unique
    )
    return containerservice.AgentPool(
        f"{context.name}-{group.shape.name}",
        resource_group_name=context.group.name,
        resource_name_=cluster.name,
        agent_pool_name=pool_name(group.shape.name),
        vnet_subnet_id=nodes.subnet,
        **pool_properties(context, group.shape, "User"),
        opts=pulumi.ResourceOptions.merge(context.opts, options),
    )
