"""A Cloud KMS key of yours that a volume on Google Cloud is encrypted with."""

import re
from collections.abc import Iterator

from components.base.faults import Fault

_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")


def faults(key: str, setting: str, region: str) -> Iterator[Fault]:
    """What is no key, or one of another region than what it encrypts. Paths begin at the volume."""
    match = _KEY.fullmatch(key)
    if match is None:
        need = f"use projects/PROJECT/locations/{region}/keyRings/RING/cryptoKeys/KEY"
        yield Fault(("backend", setting), f"{key!r} is not the id of a Cloud KMS key; {need}")
    elif match[1] != region:
        yield Fault(
            ("backend", setting), f"the key is in {match[1]}, but the data is in {region}; use a key of {region}"
        )
