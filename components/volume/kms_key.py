"""A KMS key of yours that a volume on AWS is encrypted with: how it is written, and whether the volume can use it."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from components.cluster import ClusterArgs
from components.cluster.eks import Eks
from components.faults import Fault
from components.model import refuse

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
    if key and isinstance(cluster, Eks):
        yield from elsewhere(key, cluster.region, "kmsKey")


def elsewhere(key: KmsKey, region: str, setting: str) -> Iterator[Fault]:
    """Whether a key is not of the region that it has to be of."""
    written = _ARN.fullmatch(key)
    if written and written[1] != region:
        yield Fault(("backend", setting), f"got a key of {written[1]}, need one of {region}")
