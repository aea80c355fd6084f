"""Node groups as agent pools, in addition to the system node pool."""

import pulumi
from pulumi_azure_native import containerservice

from tensorplane.components.clusters.aks.context import Context
from tensorplane.components.clusters.aks.control_plane import pool_properties
from tensorplane.components.clusters.aks.network import NodeNetwork
from tensorplane.components.clusters.aks.pool_properties import agent_pool_name
from tensorplane.components.node_groups.component import NodeGroup

# Immutable properties that the SDK does not know (besides machine and MIG profile); a change replaces the pool.
_IMMUTABLE_PROPERTIES = (
    "availabilityZones",
    "capacityReservationGroupID",
    "gpuProfile",
    "osDiskSizeGB",
    "scaleSetPriority",
    "vnetSubnetID",
)


def agent_pool(
    context: Context, cluster: containerservice.ManagedCluster, node_network: NodeNetwork, group: NodeGroup
) -> containerservice.AgentPool:
    """The agent pool of a node group."""
    options = pulumi.ResourceOptions(
        parent=group,
        ignore_changes=["count"],  # owned by the autoscaler
        replace_on_changes=list(_IMMUTABLE_PROPERTIES),
        delete_before_replace=True,  # the name must be unique
    )
    return containerservice.AgentPool(
        f"{context.name}-{group.shape.name}",
        resource_group_name=context.resource_group.name,
        resource_name_=cluster.name,
        agent_pool_name=agent_pool_name(group.shape.name),
        vnet_subnet_id=node_network.subnet,
        **pool_properties(context, group.shape, "User"),
        opts=pulumi.ResourceOptions.merge(context.opts, options),
    )
