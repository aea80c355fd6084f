"""A new bucket for a volume: versioned, encrypted, private, TLS only."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from tensorplane.components.base.model import In
from tensorplane.components.base.produced import as_input

_DAYS_OF_A_BROKEN_UPLOAD = 7


@dataclass(frozen=True)
class Bucket:
    """A bucket and its protective configuration, which must exist before data is written."""

    bucket: aws.s3.Bucket
    guards: Sequence[pulumi.Resource]


def make(
    key: str,
    name: str,
    opts: pulumi.ResourceOptions,
    *,
    region: str | None = None,
    kms_key: In[str] | None = None,
    keep_replaced_days: int | None = None,
    emptied: bool = False,
) -> Bucket:
    """The guards have the bucket's `opts`. They are created in sequence, because AWS refuses concurrent changes."""
    bucket = aws.s3.Bucket(key, region=region, force_destroy=emptied, tags={"Name": name}, opts=opts)
    guards: list[pulumi.Resource] = []

    def after() -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=guards[-1:]))

    guards.append(
        aws.s3.BucketPublicAccessBlock(
            key,
            bucket=bucket.id,
            region=region,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=opts,
        )
    )
    guards.append(
        aws.s3.BucketOwnershipControls(
            key, bucket=bucket.id, region=region, rule={"object_ownership": "BucketOwnerEnforced"}, opts=after()
        )
    )
    guards.append(
        aws.s3.BucketServerSideEncryptionConfiguration(
            key, bucket=bucket.id, region=region, rules=[_encryption(kms_key)], opts=after()
        )
    )
    guards.append(
        aws.s3.BucketVersioning(
            key, bucket=bucket.id, region=region, versioning_configuration={"status": "Enabled"}, opts=after()
        )
    )
    guards.append(
        aws.s3.BucketLifecycleConfiguration(
            key, bucket=bucket.id, region=region, rules=_lifecycle(keep_replaced_days), opts=after()
        )
    )
    guards.append(aws.s3.BucketPolicy(key, bucket=bucket.id, region=region, policy=_tls_only(bucket), opts=after()))
    return Bucket(bucket, guards)


def _encryption(kms_key: In[str] | None) -> aws.s3.BucketServerSideEncryptionConfigurationRuleArgsDict:
    if kms_key is None:
        return {"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}
    # A bucket key saves KMS requests.
    return {
        "apply_server_side_encryption_by_default": {"sse_algorithm": "aws:kms", "kms_master_key_id": as_input(kms_key)},
        "bucket_key_enabled": True,
    }


def _lifecycle(keep_replaced_days: int | None) -> list[aws.s3.BucketLifecycleConfigurationRuleArgsDict]:
    # A pod that is killed while it writes leaves invisible parts, which cost money.
    rules: list[aws.s3.BucketLifecycleConfigurationRuleArgsDict] = [
        {
            "id": "broken-uploads",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "abort_incomplete_multipart_upload": {"days_after_initiation": _DAYS_OF_A_BROKEN_UPLOAD},
        }
    ]
    if keep_replaced_days:
        rules.append(
            {
                "id": "replaced",
                "status": "Enabled",
                "filter": {"prefix": ""},
                "noncurrent_version_expiration": {"noncurrent_days": keep_replaced_days},
                "expiration": {"expired_object_delete_marker": True},
            }
        )
    return rules


def _tls_only(bucket: aws.s3.Bucket) -> pulumi.Output[str]:
    deny = {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [bucket.arn, pulumi.Output.concat(bucket.arn, "/*")],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [deny]})
