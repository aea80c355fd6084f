"""IAM policies of Mountpoint for S3: one for each volume, within the size limit of its driver's role."""

import json
from collections.abc import Sequence
from typing import Any

from tensorplane.components.volumes.backends.s3.settings import S3Settings

# "IAM and AWS STS quotas": all inline policies of a role together, without white space.
MOST_OF_A_ROLE = 10240


def policy(args: S3Settings, arn: str, kms_key: str | None, *, writes: bool) -> str:
    """The policy for one bucket, limited to its prefix."""
    listing: dict[str, Any] = {"Action": "s3:ListBucket", "Resource": arn}
    if args.prefix:
        listing["Condition"] = {"StringLike": {"s3:prefix": [f"{args.prefix}/", f"{args.prefix}/*"]}}
    on_objects = ["s3:GetObject"]
    if writes:
        on_objects += ["s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"]
    rights = [listing, {"Action": on_objects, "Resource": f"{arn}/{args.prefix}/*" if args.prefix else f"{arn}/*"}]
    if kms_key:
        use = ["kms:Decrypt", "kms:GenerateDataKey"] if writes else ["kms:Decrypt"]
        rights.append({"Action": use, "Resource": kms_key})
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **one} for one in rights]})


def writes(access_modes: Sequence[str]) -> bool:
    """Whether pods may write to it."""
    return set(access_modes) != {"ReadOnlyMany"}


def iam_length(document: str) -> int:
    """The characters that IAM counts."""
    return len("".join(document.split()))
