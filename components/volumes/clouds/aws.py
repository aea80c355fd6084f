"""Regions and customer-managed KMS keys in settings of volumes on AWS, and of their mirrors."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from tensorplane.components import catalog
from tensorplane.components.base.model import In, refuse_all_but
from tensorplane.components.base.problems import Key, Problem, did_you_mean
from tensorplane.components.base.produced import known
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.base_settings import VolumeSettings

_MIRROR = ("mirror", "to", "region")


def region_problems(region: str, path: Key) -> Iterator[Problem]:
    """A region that AWS does not have."""
    known = catalog.regions("eks")
    if known and region not in known:
        yield Problem(
            path, f"unknown region {region!r}; choose one of {', '.join(sorted(known))}{did_you_mean(region, known)}"
        )


def mirror_region_problems(args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
    """Problems of a mirror's region. Paths are relative to the volume."""
    region = args.mirror.to.region if args.mirror else None
    if region and region == cluster.catalog_region:
        yield Problem(_MIRROR, f"{region} is the region of the volume itself; choose another region")
    elif region:
        yield from region_problems(region, _MIRROR)


_ARN = re.compile(r"arn:aws[a-z-]*:kms:([a-z0-9-]+):\d{12}:key/[A-Za-z0-9-]+")


def _check_arn(value: str) -> str:
    # IAM policies identify a key by its ARN, not by an alias or id.
    if not _ARN.fullmatch(value):
        refuse_all_but("the ARN of a KMS key, such as arn:aws:kms:us-west-2:123456789012:key/…")
    return value


KmsKey = Annotated[str, AfterValidator(_check_arn)]
"""ARN of a KMS key."""


def key_problems(key: In[KmsKey] | None, cluster: ClusterArgs) -> Iterator[Problem]:
    """Problem of a key in another region than the volume. Paths are relative to the volume."""
    if key and cluster.catalog_region:
        yield from elsewhere(key, cluster.catalog_region, "kmsKey")


def mirror_key_problems(
    args: VolumeSettings, cluster: ClusterArgs, key: In[KmsKey] | None, copy_key: In[KmsKey] | None
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


def elsewhere(key: In[KmsKey], region: str, setting: str) -> Iterator[Problem]:
    """Problem of a key in another region than the data."""
    written = _ARN.fullmatch(known(key) or "")
    if written and written[1] != region:
        yield Problem(
            ("backend", setting), f"the key is in {written[1]}, but the data is in {region}; use a key of {region}"
        )
