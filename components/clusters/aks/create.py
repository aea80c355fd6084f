"""Creates an AKS cluster in the required order: rights and key, control plane, pools, logs."""

from collections.abc import Mapping

import pulumi
import pulumi_azure_native as azure
from pulumi_azure_native import containerservice, resources

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.aks import access, control_plane, encryption, kubeconfig, network
from tensorplane.components.clusters.aks.context import Context, tags
from tensorplane.components.clusters.aks.native import Native
from tensorplane.components.clusters.aks.node_pools import agent_pool
from tensorplane.components.clusters.aks.pool_properties import system_group
from tensorplane.components.clusters.aks.settings import AksSettings
from tensorplane.components.clusters.settings import Connection, cluster_provider
from tensorplane.components.node_groups.component import NodeGroup
from tensorplane.components.node_groups.shape import Shape


def connect(args: AksSettings, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
    """Creates the cluster and its node groups."""
    context, provider = _context(args, name, opts)
    identity = access.control_plane(context)
    node_network = network.node_network(context)
    subnet_right = access.grant(
        context, "subnet", access.NETWORK_CONTRIBUTOR, node_network.subnet, identity.principal_id
    )
    key = encryption.etcd(context, identity)
    system = system_group(groups, args.system_group)
    if system is None:
        raise pulumi.RunError(
            "tensorplane:nodeGroups: no group can be the system node pool; declare one without accelerator and "
            "taints, with min 1"
        )
    rights = [subnet_right, *access.reservations(context, identity, groups.values())]
    cluster = control_plane.cluster(context, identity, node_network, key, system, rights)
    control_plane.logs(context, cluster)
    settled = [*control_plane.maintenance_windows(context, cluster), *_admins(context, cluster)]
    agent_pools = _agent_pools(context, cluster, node_network, groups, system)
    config = kubeconfig.of(context, cluster, settled)
    # After the node groups, so that destroying the stack deletes the objects inside while there are nodes to run the
    # controllers that delete load balancers and disks.
    last = pulumi.ResourceOptions(parent=opts.parent, depends_on=[*agent_pools, *settled])
    inside = cluster_provider(name, config, cluster.id, last)
    return Connection(
        inside, config, Native(context, cluster, provider, context.resource_group, identity, node_network)
    )


def _context(args: AksSettings, name: str, opts: pulumi.ResourceOptions) -> tuple[Context, azure.Provider]:
    provider = azure.Provider(name, subscription_id=as_input(args.subscription), location=args.region, opts=opts)
    own = pulumi.ResourceOptions(parent=opts.parent, provider=provider)
    protect = pulumi.ResourceOptions(protect=args.deletion_protection)
    group = resources.ResourceGroup(
        name,
        resource_group_name=args.cluster_name,
        location=args.region,
        tags=tags(args),
        opts=pulumi.ResourceOptions.merge(own, protect),
    )
    return Context(name, args, group, own), provider


def _admins(context: Context, cluster: containerservice.ManagedCluster) -> list[pulumi.Resource]:
    return [
        access.grant(context, f"admin-{name}", access.CLUSTER_ADMIN, cluster.id, as_input(group), "Group")
        for name, group in context.args.admins.items()
    ]


def _agent_pools(
    context: Context,
    cluster: containerservice.ManagedCluster,
    node_network: network.NodeNetwork,
    groups: Mapping[str, Shape],
    system: Shape,
) -> list[pulumi.Resource]:
    made: list[pulumi.Resource] = []
    for shape in groups.values():
        group = NodeGroup(shape, context.opts)
        native = cluster if shape is system else agent_pool(context, cluster, node_network, group)
        group.done(native)
        made.append(native)
    return made
