"""The problems that a stack's volumes are refused with."""

from __future__ import annotations

from typing import Any

from tests.support.problems import problems_of

EXISTING = {"kind": "existing", "context": "lab"}
FILES = {"kind": "storageClass", "name": "files", "driver": "files.csi.example"}
HOURLY = {"schedule": "0 * * * *", "keep": 24}


def lines(*, cluster: dict[str, Any] | None = None, **volumes: dict[str, Any]) -> list[str]:
    """What is wrong with these volumes, of 10 GiB where they do not say; without the part that all lines share."""
    tree = {"cluster": cluster or EXISTING, "volumes": {n: {"sizeGib": 10, **v} for n, v in volumes.items()}}
    return [line.removeprefix("tensorplane:volumes.") for line in problems_of(tree)]
