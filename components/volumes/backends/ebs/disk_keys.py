"""Rights of EBS' driver on keys of yours: the policy that AWS keeps for the driver leaves them out."""

from collections.abc import Sequence

import pulumi_aws as aws

from components.clusters.eks import roles
from components.clusters.eks.native import Native

_DRIVER = "aws-ebs-csi-driver"


def grant(native: Native, keys: Sequence[str]) -> aws.iam.RolePolicy:
    """Let the driver make disks with these keys, restore snapshots with them, and hand them to EC2 for its disks."""
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
