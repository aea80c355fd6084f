"""IAM policy of Karpenter's controller: start and terminate machines of this cluster only.

The rights are those that Karpenter 1.14 documents. What it creates carries the cluster's tags; what it changes or
deletes must carry them.
"""

from __future__ import annotations

from typing import Any

import pulumi

from tensorplane.components.clusters.eks import roles
from tensorplane.components.clusters.eks.context import Context

_MACHINES = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
_USED = ("security-group", "subnet", "capacity-reservation", "placement-group")
_LOOKS = [
    f"ec2:Describe{what}"
    for what in (
        "CapacityReservations",
        "Images",
        "Instances",
        "InstanceStatus",
        "InstanceTypeOfferings",
        "InstanceTypes",
        "LaunchTemplates",
        "PlacementGroups",
        "SecurityGroups",
        "SpotPriceHistory",
        "Subnets",
    )
]
_POOL = "karpenter.sh/nodepool"
_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_REGION = "topology.kubernetes.io/region"
_CLUSTER = "eks:eks-cluster-name"


def document(
    context: Context, node_role: pulumi.Output[str], queue: pulumi.Output[str], cluster: pulumi.Output[str]
) -> pulumi.Output[str]:
    """The policy's document. The node role, the interruption queue and the cluster are named by their ARNs."""
    return roles.statements(
        *_starting(context),
        *_ending(context),
        *_instance_profiles(context),
        {
            "Action": "iam:PassRole",
            "Resource": node_role,
            "Condition": {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
        },
        {"Action": "eks:DescribeCluster", "Resource": cluster},
        {"Action": ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"], "Resource": queue},
        *_looking(context),
    )


def _ec2(context: Context, kinds: tuple[str, ...]) -> list[str]:
    return [f"arn:{context.partition}:ec2:{context.region}:*:{kind}/*" for kind in kinds]


def _owner(context: Context) -> str:
    return f"kubernetes.io/cluster/{context.cluster_name}"


def _starting(context: Context) -> list[dict[str, Any]]:
    owner = _owner(context)
    public = [f"arn:{context.partition}:ec2:{context.region}::{kind}/*" for kind in ("image", "snapshot")]
    start = ["ec2:RunInstances", "ec2:CreateFleet"]
    ours = {f"aws:RequestTag/{owner}": "owned", f"aws:RequestTag/{_CLUSTER}": context.cluster_name}
    of_pools = {f"aws:RequestTag/{_POOL}": "*"}
    creations = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
    return [
        {"Action": start, "Resource": [*public, *_ec2(context, _USED)]},
        {"Action": start, "Resource": _ec2(context, ("launch-template",)), "Condition": _existing(context)},
        {
            "Action": [*start, "ec2:CreateLaunchTemplate"],
            "Resource": _ec2(context, _MACHINES),
            "Condition": {"StringEquals": ours, "StringLike": of_pools},
        },
        {
            "Action": "ec2:CreateTags",
            "Resource": _ec2(context, _MACHINES),
            "Condition": {"StringEquals": {**ours, **creations}, "StringLike": of_pools},
        },
    ]


def _existing(context: Context) -> dict[str, Any]:
    """Condition: the resource has the tags of the cluster and of a node pool."""
    return {
        "StringEquals": {f"aws:ResourceTag/{_owner(context)}": "owned"},
        "StringLike": {f"aws:ResourceTag/{_POOL}": "*"},
    }


def _ending(context: Context) -> list[dict[str, Any]]:
    return [
        {
            "Action": "ec2:CreateTags",
            "Resource": _ec2(context, ("instance",)),
            "Condition": {
                **_existing(context),
                "StringEqualsIfExists": {f"aws:RequestTag/{_CLUSTER}": context.cluster_name},
                "ForAllValues:StringEquals": {"aws:TagKeys": [_CLUSTER, "karpenter.sh/nodeclaim", "Name"]},
            },
        },
        {
            "Action": ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            "Resource": _ec2(context, ("instance", "launch-template")),
            "Condition": _existing(context),
        },
    ]


def _instance_profiles(context: Context) -> list[dict[str, Any]]:
    owner = _owner(context)
    profiles = f"arn:{context.partition}:iam::*:instance-profile/*"

    def carrying(tag_kind: str) -> dict[str, str]:
        return {f"aws:{tag_kind}/{owner}": "owned", f"aws:{tag_kind}/{_REGION}": context.region}

    requested = {**carrying("RequestTag"), f"aws:RequestTag/{_CLUSTER}": context.cluster_name}
    requested_class, there_class = {f"aws:RequestTag/{_CLASS}": "*"}, {f"aws:ResourceTag/{_CLASS}": "*"}
    there = carrying("ResourceTag")
    changes = [f"iam:{what}" for what in ("AddRoleToInstanceProfile", "RemoveRoleFromInstanceProfile")]
    return [
        {
            "Action": "iam:CreateInstanceProfile",
            "Resource": profiles,
            "Condition": {"StringEquals": requested, "StringLike": requested_class},
        },
        {
            "Action": "iam:TagInstanceProfile",
            "Resource": profiles,
            "Condition": {"StringEquals": {**there, **requested}, "StringLike": {**there_class, **requested_class}},
        },
        {
            "Action": [*changes, "iam:DeleteInstanceProfile"],
            "Resource": profiles,
            "Condition": {"StringEquals": there, "StringLike": there_class},
        },
        {"Action": "iam:GetInstanceProfile", "Resource": profiles},
    ]


def _looking(context: Context) -> list[dict[str, Any]]:
    return [
        {
            "Action": _LOOKS,
            "Resource": "*",
            "Condition": {"StringEquals": {"aws:RequestedRegion": context.region}},
        },
        {
            "Action": "ssm:GetParameter",
            "Resource": f"arn:{context.partition}:ssm:{context.region}::parameter/aws/service/*",
        },
        {"Action": ["pricing:GetProducts", "iam:ListInstanceProfiles"], "Resource": "*"},
    ]
