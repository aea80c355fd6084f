"""The launch template of a node group: disk, metadata service, network cards, reservation."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from tensorplane.components.clusters.eks import efa
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.node_groups.shape import Shape

ROOT_DEVICE = "/dev/xvda"
# Pods are one network hop further than their node, so they cannot reach the metadata service and the node's role. They
# have roles by Pod Identity, which does not use it. Pods in the host's network still reach it.
METADATA_HOPS = 1
_TAGGED = ("instance", "volume", "network-interface")
# Other tags would create a new version of the template, for which EKS replaces every node of the group. New machines
# get tags from their scaling group.
_AS_CREATED = ["tagSpecifications"]


def launch_template(
    context: Context, shape: Shape, efa_groups: Sequence[pulumi.Input[str]], opts: pulumi.ResourceOptions
) -> aws.ec2.LaunchTemplate:
    """The template. With security groups for EFA, machines have EFA interfaces and a placement group."""
    tags = {"Name": f"{context.cluster_name}-{shape.name}", **context.tags}
    return aws.ec2.LaunchTemplate(
        shape.name,
        update_default_version=True,
        block_device_mappings=[{"device_name": ROOT_DEVICE, "ebs": _root_disk(shape)}],
        metadata_options={
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": METADATA_HOPS,
        },
        tag_specifications=[{"resource_type": kind, "tags": tags} for kind in _TAGGED],
        **_network(shape, efa_groups, opts),
        **_reservation(shape),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=_AS_CREATED)),
    )


def _root_disk(shape: Shape) -> aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgsDict:
    return {
        "volume_size": shape.args.disk_gib,
        "volume_type": "gp3",
        "encrypted": "true",
        "delete_on_termination": "true",
    }


def _network(shape: Shape, efa_groups: Sequence[pulumi.Input[str]], opts: pulumi.ResourceOptions) -> dict[str, Any]:
    if not efa_groups or shape.machine is None:
        return {}
    interfaces = {"network_interfaces": efa.interfaces(shape.machine, efa_groups)}
    if shape.args.reserved:
        # Reserved machines have a fixed location and could not start in another placement group.
        return interfaces
    together = aws.ec2.PlacementGroup(shape.name, strategy="cluster", opts=opts)
    return {**interfaces, "placement": {"group_name": together.name}}


def _reservation(shape: Shape) -> dict[str, Any]:
    reserved = shape.args.reserved
    if reserved is None:
        return {}
    target = {"capacity_reservation_target": {"capacity_reservation_id": reserved.id}}
    if not reserved.capacity_block or shape.machine is None:
        return {"capacity_reservation_specification": target}
    return {
        "capacity_reservation_specification": target,
        "instance_market_options": {"market_type": "capacity-block"},
        # A capacity block has one machine type, which its launch template must name.
        "instance_type": shape.machine.name,
    }
