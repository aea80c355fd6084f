"""EFA: the kernel-bypass network between training nodes, with its device plugin."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base.labels import INSTANCE_TYPE
from tensorplane.components.catalog import Machine
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.shape import Shape

_SECONDS_TO_READY = 600
# Machines with one network card more than EFA interfaces, for other traffic (17 cards and 16 EFA interfaces in
# aws/karpenter-provider-aws 1.14.1, zz_generated.vpclimits.go and instance-types.md).
_FIRST_CARD_APART = frozenset({"p6-b300.48xlarge"})


def security_group(context: Context, cluster: aws.eks.Cluster) -> aws.ec2.SecurityGroup:
    """All traffic between nodes with EFA, as EFA requires: in both directions, with this group as source and target."""
    name = f"{context.name}-efa"
    group = aws.ec2.SecurityGroup(
        name, vpc_id=cluster.vpc_config.vpc_id, description="EFA between training nodes", opts=context.opts
    )
    for rule in (aws.vpc.SecurityGroupIngressRule, aws.vpc.SecurityGroupEgressRule):
        rule(
            name,
            security_group_id=group.id,
            referenced_security_group_id=group.id,
            ip_protocol="-1",
            opts=context.opts,
        )
    return group


def interfaces(machine: Machine, groups: Sequence[pulumi.Input[str]]) -> list[dict[str, Any]]:
    """One interface for each network card. The first has an IP address, the others are EFA-only.

    They are device 0 of their network cards, as AWS advises (EC2 user guide, efa-acc-inst-types).
    """
    apart = machine.name in _FIRST_CARD_APART
    first = "interface" if apart else "efa"
    return [
        {
            "network_card_index": card,
            "device_index": 0,
            "interface_type": "efa-only" if card else first,
            "security_groups": list(groups),
            "delete_on_termination": "true",
        }
        for card in range(machine.efa + apart)
    ]


def device_plugin(context: Context, provider: k8s.Provider, groups: Sequence[Shape]) -> k8s.helm.v3.Release:
    """The device plugin for the resource `vpc.amazonaws.com/efa`, on nodes with EFA."""
    chart = versions.EFA_DEVICE_PLUGIN
    machines = sorted({shape.machine.name for shape in groups if shape.machine})
    return k8s.helm.v3.Release(
        f"{context.name}-{chart.name}",
        name=chart.name,
        namespace=chart.namespace,
        chart=chart.reference,
        version=chart.version,
        repository_opts={"repo": chart.repository},
        values={
            "supportedInstanceLabels": {"keys": [INSTANCE_TYPE], "values": machines},
            "tolerations": Fleet({shape.name: shape for shape in groups}).tolerations,
        },
        timeout=_SECONDS_TO_READY,
        opts=pulumi.ResourceOptions(parent=context.opts.parent, provider=provider),
    )
