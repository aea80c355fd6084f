"""Customer-managed KMS keys of volumes on AWS."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from components.base.model import refuse
from components.base.problems import Problem
from components.clusters.settings import ClusterArgs
from components.volumes.base_settings import VolumeSettings

_ARN = re.compile(r"arn:aws[a-z-]*:kms:([a-z0-9-]+):\d{12}:key/[A-Za-z0-9-]+")


def _arn(value: str) -> str:
    # IAM policies identify a key by its ARN, not by an alias or id.
    if not _ARN.fullmatch(value):
        refuse("the ARN of a KMS key, such as arn:aws:kms:us-west-2:123456789012:key/…")
    return value


KmsKey = Annotated[str, AfterValidator(_arn)]
"""ARN of a KMS key."""


def find_problems(key: KmsKey | None, cluster: ClusterArgs) -> Iterator[Problem]:
    """Problem of a key in another region than the volume. Paths are relative to the volume."""
    if key and cluster.catalog_region:
        yield from elsewhere(key, cluster.catalog_region, "kmsKey")


def of_mirror(
    args: VolumeSettings, cluster: ClusterArgs, key: KmsKey | None, copy_key: KmsKey | None
) -> Iterator[Problem]:
    """Problems of the key of a copy in another region. Paths are relative to the volume."""
    region, path = (args.mirror.to.region if args.mirror else None), ("backend", "mirrorKmsKey")
    if region == cluster.catalog_region:
        return  # reported by another check
    if copy_key and region is None:
        yield Problem(path, "is set, but the volume has no mirror; remove it, or set mirror.to.region")
    elif copy_key and region:
        yield from elsewhere(copy_key, region, "mirrorKmsKey")
    elif region and key:
        # Refused, because the copy would silently use an AWS-managed key.
        reason = f"missing, but kmsKey is set and works in its own region only; set a key of {region}"
        yield Problem(path, reason, given=(("backend", "kmsKey"),))


def elsewhere(key: KmsKey, region: str, setting: str) -> Iterator[Problem]:
    """Problem of a key in another region than the data."""
    written = _ARN.fullmatch(key)
    if written and written[1] != region:
        yield Problem(
            ("backend", setting), f"the key is in {written[1]}, but the data is in {region}; use a key of {region}"
        )
