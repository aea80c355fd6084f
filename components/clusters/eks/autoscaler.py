"""The cluster autoscaler: adds nodes for pending pods, and removes unneeded nodes."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.clusters.eks import roles
from tensorplane.components.clusters.eks.context import Context

_SECONDS_TO_READY = 600
_LOOKS = [
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeTags",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
    "eks:DescribeNodegroup",
]
_ARGUMENTS = {
    "expander": "least-waste",
    "balance-similar-node-groups": True,
    # By default, a node with less than half of its GPUs in use is drained. Moving a training job costs more than
    # its node: only nodes without used GPUs are removed. The smallest usage is one of 8 GPUs shared by 64 pods each.
    "scale-down-gpu-utilization-threshold": "0.001",
}
_CHANGES = ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]


def autoscaler(context: Context, cluster: aws.eks.Cluster, provider: k8s.Provider) -> k8s.helm.v3.Release:
    """The autoscaler, with a role for the node groups of this cluster only."""
    chart = versions.CLUSTER_AUTOSCALER
    # EKS sets this tag on the scaling groups of its node groups.
    own = {"StringEquals": {f"aws:ResourceTag/k8s.io/cluster-autoscaler/{context.cluster_name}": "owned"}}
    document = roles.statements(
        {"Action": _LOOKS, "Resource": "*"}, {"Action": _CHANGES, "Resource": "*", "Condition": own}
    )
    role = roles.granted(context, chart.name, roles.POD_IDENTITY, document=document)
    identity = roles.pod_identity(context, chart.name, role, cluster, chart.namespace, chart.name)
    return k8s.helm.v3.Release(
        f"{context.name}-{chart.name}",
        name=chart.name,
        namespace=chart.namespace,
        chart=chart.reference,
        version=chart.version,
        repository_opts={"repo": chart.repository},
        values={
            "autoDiscovery": {"clusterName": context.cluster_name},
            "awsRegion": context.region,
            # It simulates the scheduler, so its version must match the cluster's.
            "image": {"repository": chart.image, "tag": f"v{context.args.version}.0"},
            "fullnameOverride": chart.name,
            "rbac": {"serviceAccount": {"name": chart.name}},
            "extraArgs": _ARGUMENTS,
            "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        },
        timeout=_SECONDS_TO_READY,
        opts=pulumi.ResourceOptions(parent=context.opts.parent, provider=provider, depends_on=[identity]),
    )
