"""What never changes of a volume's claim is one line, whoever runs `pulumi`."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.components.volumes.immutable import find_problems

NOON = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "noon"}
COPY = {"kind": "PersistentVolumeClaim", "name": "models"}


def claim(size: str = "2Gi", source: Any = None) -> dict[str, Any]:
    spec = {"resources": {"requests": {"storage": size}}, **({"dataSource": source} if source else {})}
    return {"spec": spec}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (claim(), claim(source=NOON), "volumes.old.from: is noon, but volume old already exists"),
        (claim(source=COPY), claim(source=NOON), "volumes.old.from: is noon, but volume old already exists"),
        (
            claim(),
            claim("1536Mi"),
            "volumes.old.sizeGib: volume old has 2 GiB and cannot shrink; set sizeGib to 2 or more",
        ),
    ],
)
def test_what_a_claim_cannot_become_is_refused(old: Any, new: Any, says: str) -> None:
    (line,) = find_problems("old", old, new)
    assert line.startswith(f"tensorplane:{says}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (claim(), claim("3Gi")),
        (claim("2048Mi"), claim()),
        (claim(source=NOON), claim("3Gi", source=NOON)),
        (claim(source=NOON), claim()),
        ({}, claim()),
    ],
)
def test_what_it_can_become_is_not(old: Any, new: Any) -> None:
    assert list(find_problems("old", old, new)) == []
