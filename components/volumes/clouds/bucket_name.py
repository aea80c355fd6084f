"""Names of S3 buckets."""

import re
from typing import Annotated

from pydantic import AfterValidator

from components.base.model import refuse

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_DIRECTORY_BUCKET = "--x-s3"


def _bucket_name(value: str) -> str:
    if not _NAME.fullmatch(value) or ".." in value:
        refuse("a bucket name: 3 to 63 lower-case letters, digits, dots and dashes")
    if value.endswith(_DIRECTORY_BUCKET):
        refuse("a general purpose bucket (directory buckets are not supported)")
    return value


BucketName = Annotated[str, AfterValidator(_bucket_name)]
"""Name of an existing bucket."""
