"""Rights of the EBS driver on customer-managed keys, which AWS' managed policy does not include."""

from collections.abc import Sequence

import pulumi_aws as aws

from tensorplane.components.clusters.eks import roles
from tensorplane.components.clusters.eks.native import Native

_DRIVER = "aws-ebs-csi-driver"


def grant(native: Native, keys: Sequence[str]) -> aws.iam.RolePolicy:
    """Allows the driver to create and restore disks with these keys, and to grant EC2 their use."""
    driver = native.addons[_DRIVER]
    if driver.role is None:
        raise ValueError(f"add-on {_DRIVER} has no role")
    context = native.context
    return aws.iam.RolePolicy(
        f"{context.name}-{_DRIVER}-keys",
        role=driver.role.role.id,
        policy=roles.statements(
            {
                "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncrypt*"],
                "Resource": list(keys),
            },
            {
                "Action": "kms:CreateGrant",
                "Resource": list(keys),
                "Condition": {"Bool": {"kms:GrantIsForAWSResource": "true"}},
            },
        ),
        opts=context.opts,
    )
