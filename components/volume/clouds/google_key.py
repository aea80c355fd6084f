"""A Cloud KMS key of yours that a volume on Google Cloud is encrypted with."""

import re
from collections.abc import Iterator

from components.faults import Fault

_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")


def faults(key: str, setting: str, region: str) -> Iterator[Fault]:
    """What is no key, or one of another region than what it encrypts. Paths begin at the volume."""
    match = _KEY.fullmatch(key)
    if match is None:
        need = f"need projects/PROJECT/locations/{region}/keyRings/RING/cryptoKeys/KEY"
        yield Fault(("backend", setting), f"got {key!r}, {need}")
    elif match[1] != region:
        yield Fault(("backend", setting), f"got a key of {match[1]}, need one of {region}, where it is used")
