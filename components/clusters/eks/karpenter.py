"""Karpenter: provisions nodes for pending pods, for groups with `provisioner: automatic`."""

import json
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.clusters.eks import karpenter_rights, roles
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.roles import GrantedRole

_SECONDS_TO_READY = 600
_SECONDS_THAT_NOTICES_LAST = 300
# AWS' events before or after the loss of a machine.
_NOTICES = {
    "health": ("aws.health", "AWS Health Event"),
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}


@dataclass(frozen=True)
class Karpenter:
    """Karpenter's release, on which node pools depend."""

    release: k8s.helm.v3.Release
    node_role: GrantedRole


def karpenter(context: Context, cluster: aws.eks.Cluster, provider: k8s.Provider, *, replicas: int) -> Karpenter:
    """The controller with its role, the role of its nodes, and the queue of interruption events."""
    chart = versions.KARPENTER
    node_role = roles.granted(
        context,
        "karpenter-node",
        "ec2.amazonaws.com",
        policies=["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"],
    )
    # Unlike managed node groups, Karpenter's nodes require an access entry.
    entry = aws.eks.AccessEntry(
        f"{context.name}-karpenter-node",
        cluster_name=cluster.name,
        principal_arn=node_role.arn,
        type="EC2_LINUX",
        opts=context.opts,
    )
    # Helm never updates CRDs of a chart; a chart of their own follows Karpenter's version.
    kinds = k8s.helm.v3.Release(
        f"{context.name}-{chart.name}-crd",
        name=f"{chart.name}-crd",
        namespace=chart.namespace,
        chart=f"{chart.reference}-crd",
        version=chart.version,
        timeout=_SECONDS_TO_READY,
        opts=pulumi.ResourceOptions(parent=context.opts.parent, provider=provider),
    )
    queue, notices = _notices(context)
    document = karpenter_rights.document(context, node_role.arn, queue.arn, cluster.arn)
    role = roles.granted(context, chart.name, roles.POD_IDENTITY, document=document)
    identity = roles.pod_identity(context, chart.name, role, cluster, chart.namespace, chart.name)
    release = k8s.helm.v3.Release(
        f"{context.name}-{chart.name}",
        name=chart.name,
        namespace=chart.namespace,
        chart=chart.reference,
        version=chart.version,
        skip_crds=True,
        values={
            "settings": {
                "clusterName": context.cluster_name,
                "interruptionQueue": queue.name,
                "featureGates": {"nodeRepair": True},
            },
            "serviceAccount": {"name": chart.name},
            "replicas": replicas,
            "controller": {
                # By default from the metadata service, which pods cannot reach.
                "env": [{"name": "AWS_REGION", "value": context.region}],
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
            },
        },
        timeout=_SECONDS_TO_READY,
        opts=pulumi.ResourceOptions(
            parent=context.opts.parent,
            provider=provider,
            depends_on=[kinds, identity, entry, *node_role.grants, *notices],
        ),
    )
    return Karpenter(release, node_role)


def _notices(context: Context) -> "tuple[aws.sqs.Queue, list[pulumi.Resource]]":
    """The queue and its event rules. The quoted type avoids an import of AWS' queues without Karpenter."""
    name = f"{context.name}-karpenter"
    queue = aws.sqs.Queue(
        name,
        message_retention_seconds=_SECONDS_THAT_NOTICES_LAST,
        sqs_managed_sse_enabled=True,
        opts=context.opts,
    )
    filling: list[pulumi.Resource] = [
        aws.sqs.QueuePolicy(name, queue_url=queue.id, policy=queue.arn.apply(_queue_policy), opts=context.opts)
    ]
    for key, (source, detail) in _NOTICES.items():
        rule = aws.cloudwatch.EventRule(
            f"{name}-{key}",
            event_pattern=json.dumps({"source": [source], "detail-type": [detail]}),
            opts=context.opts,
        )
        filling.append(aws.cloudwatch.EventTarget(f"{name}-{key}", rule=rule.name, arn=queue.arn, opts=context.opts))
    return queue, filling


def _queue_policy(queue: str) -> str:
    """The queue's policy: events are allowed, unencrypted requests are denied."""
    senders = ["events.amazonaws.com", "sqs.amazonaws.com"]
    allow = {"Effect": "Allow", "Principal": {"Service": senders}, "Action": "sqs:SendMessage", "Resource": queue}
    in_the_clear = {"Bool": {"aws:SecureTransport": "false"}}
    deny = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": queue, "Condition": in_the_clear}
    return json.dumps({"Version": "2012-10-17", "Statement": [allow, deny]})
