"""Creates an EKS cluster in the required order: control plane, add-ons, nodes, controllers."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components.clusters.eks import (
    access,
    addons,
    autoscaler,
    control_plane,
    efa,
    karpenter,
    kubeconfig,
    network,
    roles,
    storage_class,
)
from tensorplane.components.clusters.eks.context import Context, tags
from tensorplane.components.clusters.eks.karpenter_pools import node_pool
from tensorplane.components.clusters.eks.native import Installed, Native
from tensorplane.components.clusters.eks.network import Subnets
from tensorplane.components.clusters.eks.node_pools import Surroundings, managed_group
from tensorplane.components.clusters.eks.placement import is_system, uses_efa
from tensorplane.components.clusters.eks.settings import EksSettings
from tensorplane.components.clusters.settings import Connection
from tensorplane.components.node_groups.component import NodeGroup
from tensorplane.components.node_groups.shape import Shape

_KARPENTER_REPLICAS = 2


def connect(args: EksSettings, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
    """Creates the cluster and its node groups."""
    provider = aws.Provider(name, region=args.region, default_tags={"tags": tags(args)}, opts=opts)
    context = Context(name, args, args.cluster_name, pulumi.ResourceOptions(parent=opts.parent, provider=provider))
    subnets = network.subnets(context)
    cluster = control_plane.cluster(context, subnets)
    administrators = access.entries(context, cluster)
    components = {group: NodeGroup(shape, context.opts) for group, shape in groups.items()}
    nodes, ready = _managed(context, cluster, subnets, components)
    config = kubeconfig.kubeconfig(context, cluster)
    before = [*nodes.values(), *(one.addon for one in ready.values()), *administrators]
    inside = kubeconfig.provider(context, cluster, config, before)
    _controllers(context, cluster, inside, groups)
    pools = _pools(context, cluster, subnets, inside, components)
    for group, component in components.items():
        component.done(nodes.get(group) or pools[group])
    shared = control_plane.security_group(cluster)
    native = Native(context, cluster, provider, subnets, shared, tuple(nodes.values()), ready)
    return Connection(inside, config, native)


def _managed(
    context: Context, cluster: aws.eks.Cluster, subnets: Subnets, components: Mapping[str, NodeGroup]
) -> tuple[dict[str, pulumi.Resource], dict[str, Installed]]:
    """The managed node groups, and the add-ons, which follow the groups for the cluster's own pods."""
    managed = {name: c for name, c in components.items() if c.shape.args.provisioner == "group"}
    role = roles.granted(
        context,
        "node",
        "ec2.amazonaws.com",
        policies=["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"],
    )
    efa_groups: list[pulumi.Input[str]] = []
    if any(uses_efa(component.shape) for component in managed.values()):
        efa_groups = [control_plane.security_group(cluster), efa.security_group(context, cluster).id]
    surroundings = Surroundings(cluster, role, subnets, efa_groups)
    first = addons.before_nodes(context, cluster)

    def create(names: list[str], before: list[pulumi.Resource]) -> dict[str, pulumi.Resource]:
        return {
            name: managed_group(context, surroundings, managed[name].shape, managed[name], before) for name in names
        }

    nodes = create([name for name, c in managed.items() if is_system(c.shape)], first)
    groups = {name: component.shape for name, component in components.items()}
    ready = addons.after_nodes(context, cluster, list(nodes.values()), groups)
    before = [*first, *(one.addon for one in ready.values())]
    nodes |= create([name for name, c in managed.items() if not is_system(c.shape)], before)
    return nodes, ready


def _controllers(
    context: Context, cluster: aws.eks.Cluster, provider: k8s.Provider, groups: Mapping[str, Shape]
) -> None:
    """Controllers for AWS that the node groups require."""
    storage_class.storage_class(context, provider)
    managed = [shape for shape in groups.values() if shape.args.provisioner == "group"]
    if any(shape.args.min < shape.args.max for shape in managed):
        autoscaler.autoscaler(context, cluster, provider)
    if with_efa := [shape for shape in managed if uses_efa(shape)]:
        efa.device_plugin(context, provider, with_efa)


def _pools(
    context: Context,
    cluster: aws.eks.Cluster,
    subnets: Subnets,
    provider: k8s.Provider,
    components: Mapping[str, NodeGroup],
) -> dict[str, pulumi.Resource]:
    automatic = {name: c for name, c in components.items() if c.shape.args.provisioner == "automatic"}
    if not automatic:
        return {}
    # Two replicas never share a node: with one node, the second would stay pending.
    always = sum(c.shape.args.min for c in components.values() if is_system(c.shape))
    replicas = max(1, min(_KARPENTER_REPLICAS, always))
    controller = karpenter.karpenter(context, cluster, provider, replicas=replicas)
    return {
        name: node_pool(context, cluster, subnets, controller, provider, component)
        for name, component in automatic.items()
    }
