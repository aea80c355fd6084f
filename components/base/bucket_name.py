"""Names of S3 buckets."""

import re
from typing import Annotated

from pydantic import AfterValidator

from components.base.model import refuse

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
BUCKET_RULE = "bucket name: 3 to 63 lower-case letters, digits, dots and dashes"
_DIRECTORY_BUCKET = "--x-s3"


def is_bucket_name(value: str) -> bool:
    """Whether a bucket of S3 may have this name."""
    return bool(_NAME.fullmatch(value)) and ".." not in value


def _bucket_name(value: str) -> str:
    if not is_bucket_name(value):
        refuse(f"a {BUCKET_RULE}")
    if value.endswith(_DIRECTORY_BUCKET):
        refuse("a general purpose bucket (directory buckets are not supported)")
    return value


BucketName = Annotated[str, AfterValidator(_bucket_name)]
"""Name of an existing bucket."""
