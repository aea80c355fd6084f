"""Managed node groups of EKS, which the cluster autoscaler scales."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from tensorplane.components.base.labels import AUTOSCALER_TEMPLATE, EKS_ACCELERATOR
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks import scale_from_zero_tags
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.launch_template import launch_template
from tensorplane.components.clusters.eks.network import Subnets
from tensorplane.components.clusters.eks.placement import uses_efa
from tensorplane.components.clusters.eks.roles import GrantedRole
from tensorplane.components.clusters.eks.zones import zones_of
from tensorplane.components.node_groups.component import NodeGroup
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.node_groups.taint import Taint

# The autoscaler knows these names; with any other value, it still waits for a new node's device plugin.
_AUTOSCALER_NAMES = {"t4": "tesla-t4", "v100": "tesla-v100", "p100": "tesla-p100", "a100": "tesla-a100"}
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}
_SPOT_TYPES_LIMIT = 20
_LARGER_AT_MOST = 2


@dataclass(frozen=True)
class Surroundings:
    """Shared resources of node groups."""

    cluster: aws.eks.Cluster
    role: GrantedRole
    subnets: Subnets
    efa_groups: Sequence[pulumi.Input[str]] = ()
    """Security groups of machines with EFA; empty if no group has it."""


def managed_group(
    context: Context, surroundings: Surroundings, shape: Shape, component: NodeGroup, before: Sequence[pulumi.Resource]
) -> aws.eks.NodeGroup:
    """The group, after `before` and everything that its nodes require to become Ready."""
    args = context.args
    inside = pulumi.ResourceOptions(parent=component)
    template = launch_template(context, shape, surroundings.efa_groups if uses_efa(shape) else (), inside)
    labels = _labels(shape)
    group = aws.eks.NodeGroup(
        shape.name,
        cluster_name=surroundings.cluster.name,
        node_role_arn=surroundings.role.arn,
        subnet_ids=surroundings.subnets.of(zones_of(shape, args)),
        version=args.node_version or args.version,
        ami_type=shape.machine.image if shape.machine else None,
        instance_types=_instance_types(shape),
        capacity_type=_capacity_type(shape),
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        labels=labels,
        taints=[_taint(taint) for taint in shape.declared_taints],
        scaling_config={
            "min_size": shape.args.min,
            "max_size": shape.args.max,
            "desired_size": shape.args.min,
        },
        update_config=_update_config(shape),
        node_repair_config={"enabled": True},
        opts=pulumi.ResourceOptions(
            parent=component,
            depends_on=[*surroundings.role.grants, *surroundings.subnets.routes, *before],
            ignore_changes=_left_alone(shape) or None,
        ),
    )
    prefix = f"{AUTOSCALER_TEMPLATE}/"
    for key, value in scale_from_zero_tags.tags(shape, labels).items():
        _tag(f"{shape.name}-{key.removeprefix(prefix)}", group, key, value, of_machines=False)
    for key, given in sorted(context.args.tags.items()):
        _tag(f"{shape.name}-tag/{key}", group, key, as_input(given), of_machines=True)
    return group


def _left_alone(shape: Shape) -> list[str]:
    """Properties that changed settings do not update."""
    found = []
    if shape.args.min < shape.args.max:
        # The autoscaler sets the number of nodes between min and max. Before min or max is changed, run
        # `pulumi refresh`, because AWS requires all three at once.
        found.append("scalingConfig.desiredSize")
    if not shape.args.zones and not uses_efa(shape):
        # A group without `zones` keeps the cluster's initial zones, because a change would replace it. With EFA, it
        # must move into one zone.
        found.append("subnetIds")
    return found


def _labels(shape: Shape) -> dict[str, str]:
    labels = dict(shape.labels)
    if accelerator := shape.accelerator:
        family = accelerator.name.split("-")[0]
        labels[EKS_ACCELERATOR] = f"nvidia-{_AUTOSCALER_NAMES.get(family, accelerator.name)}"
    return labels


def _taint(taint: Taint) -> aws.eks.NodeGroupTaintArgsDict:
    spelled: aws.eks.NodeGroupTaintArgsDict = {"key": taint.key, "effect": _EFFECTS[taint.effect]}
    if taint.value:
        spelled["value"] = taint.value
    return spelled


def _instance_types(shape: Shape) -> list[str] | None:
    """The machine types; empty if the launch template must name it.

    Spot groups have more types: the same accelerators and image, at most twice the cores.
    """
    machine, args = shape.machine, shape.args
    if machine is None or (args.reserved and args.reserved.capacity_block):
        return None
    if not args.spot:
        return [machine.name]
    others = [
        other.name
        for other in shape.alternatives
        if other.image == machine.image
        and machine.vcpus <= other.vcpus <= _LARGER_AT_MOST * machine.vcpus
        and other.memory_gib >= machine.memory_gib
    ]
    return [machine.name, *others][:_SPOT_TYPES_LIMIT]


def _capacity_type(shape: Shape) -> str:
    if shape.args.reserved and shape.args.reserved.capacity_block:
        return "CAPACITY_BLOCK"
    return "SPOT" if shape.args.spot else "ON_DEMAND"


def _update_config(shape: Shape) -> aws.eks.NodeGroupUpdateConfigArgsDict:
    if shape.accelerator:
        # Scarce machines have no spare capacity: remove one first, then add its successor.
        return {"max_unavailable": 1, "update_strategy": "MINIMAL"}
    return {"max_unavailable_percentage": 33}


def _tag(name: str, group: aws.eks.NodeGroup, key: str, value: pulumi.Input[str], *, of_machines: bool) -> None:
    """A tag of the group's scaling group; `of_machines`: also of new machines."""
    tag: aws.autoscaling.TagTagArgsDict = {"key": key, "value": value, "propagate_at_launch": of_machines}
    scaling_group = group.resources[0].autoscaling_groups[0].name
    aws.autoscaling.Tag(name, autoscaling_group_name=scaling_group, tag=tag, opts=pulumi.ResourceOptions(parent=group))
