"""Customer-managed Cloud KMS keys of volumes on Google Cloud."""

import re
from collections.abc import Iterator

from components.base.problems import Problem

_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")


def find_problems(key: str, setting: str, region: str) -> Iterator[Problem]:
    """Problem of an invalid key, or of one in another region than the data. Paths are relative to the volume."""
    match = _KEY.fullmatch(key)
    if match is None:
        remedy = f"use projects/PROJECT/locations/{region}/keyRings/RING/cryptoKeys/KEY"
        yield Problem(("backend", setting), f"{key!r} is not the id of a Cloud KMS key; {remedy}")
    elif match[1] != region:
        yield Problem(
            ("backend", setting), f"the key is in {match[1]}, but the data is in {region}; use a key of {region}"
        )
