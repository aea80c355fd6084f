"""Everything of an EKS cluster in the order in which it works: control plane, add-ons, nodes, controllers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.cluster import Connection
from components.cluster.eks import Eks
from components.eks import (
    addons,
    admins,
    autoscaler,
    control_plane,
    efa,
    karpenter,
    kubeconfig,
    network,
    roles,
    storage_class,
)
from components.eks.addons import Installed
from components.eks.context import Context, tags
from components.eks.managed_group import Surroundings, managed_group
from components.eks.network import Subnets
from components.eks.node_pool import node_pool
from components.eks.placement import is_system, uses_efa
from components.node_group import NodeGroup, Shape

_KARPENTER_REPLICAS = 2


@dataclass(frozen=True)
class Native:
    """The cluster in AWS, for what is built beside it: file systems, roles of workloads."""

    context: Context
    cluster: aws.eks.Cluster
    provider: aws.Provider
    subnets: Subnets
    security_group: pulumi.Output[str]
    """Of the control plane and of every node."""
    nodes: Sequence[pulumi.Resource]
    """Those that the cluster's own pods run on, and all others that are no pool of Karpenter's."""
    addons: Mapping[str, Installed]
    """The add-ons that came after the first nodes, by name."""


def connect(args: Eks, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
    """Create the cluster and its node groups."""
    provider = aws.Provider(name, region=args.region, default_tags={"tags": tags(args)}, opts=opts)
    context = Context(name, args, args.cluster_name, pulumi.ResourceOptions(parent=opts.parent, provider=provider))
    subnets = network.subnets(context)
    cluster = control_plane.cluster(context, subnets)
    administrators = admins.entries(context, cluster)
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
    """The managed groups, and the add-ons that come between those for the cluster's own pods and all others."""
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
    around = Surroundings(cluster, role, subnets, efa_groups)
    first = addons.before_nodes(context, cluster)

    def create(names: list[str], before: list[pulumi.Resource]) -> dict[str, pulumi.Resource]:
        return {name: managed_group(context, around, managed[name].shape, managed[name], before) for name in names}

    nodes = create([name for name, c in managed.items() if is_system(c.shape)], first)
    groups = {name: component.shape for name, component in components.items()}
    ready = addons.after_nodes(context, cluster, list(nodes.values()), groups)
    before = [*first, *(one.addon for one in ready.values())]
    nodes |= create([name for name, c in managed.items() if not is_system(c.shape)], before)
    return nodes, ready


def _controllers(
    context: Context, cluster: aws.eks.Cluster, provider: k8s.Provider, groups: Mapping[str, Shape]
) -> None:
    """What runs in the cluster for AWS' sake, where a group needs it."""
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
    # Two replicas never share a node: with one node, the second would wait for ever.
    always = sum(c.shape.args.min for c in components.values() if is_system(c.shape))
    replicas = max(1, min(_KARPENTER_REPLICAS, always))
    controller = karpenter.karpenter(context, cluster, provider, replicas=replicas)
    return {
        name: node_pool(context, cluster, subnets, controller, provider, component)
        for name, component in automatic.items()
    }
