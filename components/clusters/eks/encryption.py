"""The key that encrypts the cluster's secrets."""

import pulumi_aws as aws

from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.roles import Statement

_DAYS_TO_CHANGE_YOUR_MIND = 30


def secrets_key(context: Context) -> aws.kms.Key:
    """The cluster's own key, rotated by AWS."""
    return aws.kms.Key(
        context.name,
        description=f"Secrets of EKS cluster {context.cluster_name}",
        enable_key_rotation=True,
        deletion_window_in_days=_DAYS_TO_CHANGE_YOUR_MIND,
        opts=context.opts,
    )


def use_of(key: aws.kms.Key) -> Statement:
    """The control plane's rights on the key."""
    return {"Action": ["kms:Encrypt", "kms:Decrypt", "kms:DescribeKey", "kms:ListGrants"], "Resource": key.arn}
