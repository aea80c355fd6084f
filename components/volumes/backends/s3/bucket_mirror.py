"""The copy of a bucket in another region, by S3 replication."""

import pulumi
import pulumi_aws as aws

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks import roles
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.native import short_name
from tensorplane.components.volumes.backends.s3 import bucket
from tensorplane.components.volumes.backends.s3.bucket import Bucket
from tensorplane.components.volumes.backends.s3.settings import S3Settings

_MINUTES = 15
"""The only interval of S3's Replication Time Control."""


def mirror(
    context: Context,
    name: str,
    origin: Bucket,
    args: S3Settings,
    *,
    region: str,
    in_time: bool,
    opts: pulumi.ResourceOptions,
) -> None:
    """Creates the copy and the replication. If `mirror` is removed, replication ends and the copy is kept."""
    key = f"{short_name(name)}-mirror"
    unprotected = pulumi.ResourceOptions(parent=opts.parent, provider=opts.provider)
    stays = pulumi.ResourceOptions.merge(unprotected, pulumi.ResourceOptions(retain_on_delete=True))
    copy = bucket.make(
        key,
        f"{name}-mirror",
        stays,
        region=region,
        kms_key=args.mirror_kms_key,
        keep_replaced_days=args.keep_replaced_days,
    )
    role = roles.granted(
        context, key, "s3.amazonaws.com", document=roles.statements(*_rights(origin.bucket.arn, copy.bucket.arn, args))
    )
    destination: aws.s3.BucketReplicationConfigRuleDestinationArgsDict = {
        "bucket": copy.bucket.arn,
        # Replication lag in CloudWatch.
        "metrics": {"status": "Enabled"},
    }
    if in_time:
        destination["metrics"] = {"status": "Enabled", "event_threshold": {"minutes": _MINUTES}}
        destination["replication_time"] = {"status": "Enabled", "time": {"minutes": _MINUTES}}
    if args.mirror_kms_key:
        destination["encryption_configuration"] = {"replica_kms_key_id": as_input(args.mirror_kms_key)}
    rule: aws.s3.BucketReplicationConfigRuleArgsDict = {
        "id": "mirror",
        "status": "Enabled",
        "priority": 0,
        "filter": {"prefix": ""},
        # Deletions are replicated; both buckets keep the earlier version.
        "delete_marker_replication": {"status": "Enabled"},
        "destination": destination,
    }
    if args.kms_key:
        rule["source_selection_criteria"] = {"sse_kms_encrypted_objects": {"status": "Enabled"}}
    aws.s3.BucketReplicationConfig(
        key,
        bucket=origin.bucket.id,
        role=role.arn,
        rules=[rule],
        # Replication requires versioning on both.
        opts=pulumi.ResourceOptions.merge(
            unprotected, pulumi.ResourceOptions(depends_on=[*origin.guards, *copy.guards, *role.grants])
        ),
    )


def _rights(origin: pulumi.Output[str], copy: pulumi.Output[str], args: S3Settings) -> list[roles.Statement]:
    """Rights to read the source and to write the copy."""
    rights: list[roles.Statement] = [
        {"Action": ["s3:GetReplicationConfiguration", "s3:ListBucket"], "Resource": origin},
        {
            "Action": [
                "s3:GetObjectVersionForReplication",
                "s3:GetObjectVersionAcl",
                "s3:GetObjectVersionTagging",
            ],
            "Resource": pulumi.Output.concat(origin, "/*"),
        },
        {
            "Action": ["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"],
            "Resource": pulumi.Output.concat(copy, "/*"),
        },
    ]
    if args.kms_key:
        rights.append({"Action": "kms:Decrypt", "Resource": args.kms_key})
    if args.mirror_kms_key:
        rights.append({"Action": ["kms:Encrypt", "kms:GenerateDataKey"], "Resource": args.mirror_kms_key})
    return rights
