"""When `make up` asks the cluster whether the settings of its volumes are right."""

from __future__ import annotations

from typing import Any

import pytest

from driver.live_volumes import need_cluster

CLAIM = {"metadata": {"name": "models"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}}}


@pytest.mark.parametrize(
    ("volume", "asks"),
    [
        ({"sizeGib": 2}, False),
        ({"sizeGib": 3}, False),
        ({"sizeGib": 1.5}, True),
        ({"sizeGib": 2, "from": {"snapshot": "noon"}}, True),
        ({"sizeGib": 2, "backend": {"kind": "storageClass", "name": "fast"}}, True),
        ({"sizeGib": "two"}, False),
        (None, False),
    ],
)
def test_it_asks_where_the_cluster_decides(volume: Any, asks: bool) -> None:
    assert need_cluster({"models": volume}, [CLAIM]) == asks
    assert not need_cluster({"new": {"sizeGib": 1}}, [CLAIM])
