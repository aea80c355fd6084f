"""A KMS key of yours that a volume on AWS is encrypted with: how it is written, and whether the volume can use it."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from components.base.faults import Fault
from components.base.model import refuse
from components.clusters.settings import ClusterArgs
from components.volumes.base_settings import VolumeSettings

_ARN = re.compile(r"arn:aws[a-z-]*:kms:([a-z0-9-]+):\d{12}:key/[A-Za-z0-9-]+")


def _arn(value: str) -> str:
    # Rights name keys by their ARN: an alias or a bare id would give none.
    if not _ARN.fullmatch(value):
        refuse("the ARN of a KMS key, such as arn:aws:kms:us-west-2:123456789012:key/…")
    return value


KmsKey = Annotated[str, AfterValidator(_arn)]
"""ARN of a KMS key."""


def faults(key: KmsKey | None, cluster: ClusterArgs) -> Iterator[Fault]:
    """A key of another region than the volume's, which cannot encrypt it. Paths begin at the volume."""
    if key and cluster.place:
        yield from elsewhere(key, cluster.place, "kmsKey")


def of_mirror(
    args: VolumeSettings, cluster: ClusterArgs, key: KmsKey | None, copy_key: KmsKey | None
) -> Iterator[Fault]:
    """Whether a copy in another region has a key where the volume has one. Paths begin at the volume."""
    region, path = (args.mirror.to.region if args.mirror else None), ("backend", "mirrorKmsKey")
    if region == cluster.place:
        return  # wrong itself
    if copy_key and region is None:
        yield Fault(path, "is set, but the volume has no mirror; remove it, or set mirror.to.region")
    elif copy_key and region:
        yield from elsewhere(copy_key, region, "mirrorKmsKey")
    elif region and key:
        # Silently another key than the one that was asked for would be worse than none.
        reason = f"missing, but kmsKey is set and works in its own region only; set a key of {region}"
        yield Fault(path, reason, given=(("backend", "kmsKey"),))


def elsewhere(key: KmsKey, region: str, setting: str) -> Iterator[Fault]:
    """Whether a key is not of the region that it has to be of."""
    written = _ARN.fullmatch(key)
    if written and written[1] != region:
        yield Fault(
            ("backend", setting), f"the key is in {written[1]}, but the data is in {region}; use a key of {region}"
        )
