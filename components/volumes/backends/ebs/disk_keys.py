"""Rights of the EBS driver on customer-managed keys, which AWS' managed policy does not include."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from tensorplane.components.clusters.eks import roles
from tensorplane.components.clusters.eks.native import Native

_DRIVER = "aws-ebs-csi-driver"


def grant(native: Native, keys: Sequence[pulumi.Input[str]]) -> aws.iam.RolePolicy:
    """Allows the driver to create and restore disks with these keys, and to grant EC2 their use."""
    driver = native.addons[_DRIVER]
    if driver.role is None:
        raise ValueError(f"add-on {_DRIVER} has no role")
    context = native.context
    each_once = pulumi.Output.all(*keys).apply(lambda found: sorted(set(found)))
    return aws.iam.RolePolicy(
        f"{context.name}-{_DRIVER}-keys",
        role=driver.role.role.id,
        policy=roles.statements(
            {
                "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncrypt*"],
                "Resource": each_once,
            },
            {
                "Action": "kms:CreateGrant",
                "Resource": each_once,
                "Condition": {"Bool": {"kms:GrantIsForAWSResource": "true"}},
            },
        ),
        opts=context.opts,
    )
