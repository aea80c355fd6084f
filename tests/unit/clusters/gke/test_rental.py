"""Machines of GKE that nobody gets on demand: a line that says so before anything is made."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.clusters.gke.built import CPU, problems

ZONES = ["us-central1-a"]
SPOT = {"spot": True, "zones": ZONES}
RESERVED = {"reserved": {"id": "ours"}, "zones": ZONES}
H100 = {"accelerator": "h100-80gb", "perNode": 1}
H200 = {"accelerator": "h200", "perNode": 8}
B200 = {"accelerator": "b200", "perNode": 8}
GB200 = {"accelerator": "gb200", "perNode": 4}


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (H100, "spot: a3-highgpu-1g is not available on demand; use spot: true"),
        ({**H100, "perNode": 4}, "spot: a3-highgpu-4g is not available on demand; use spot: true"),
        ({**H100, **RESERVED}, "reserved: a3-highgpu-1g is not available reserved; use spot: true"),
        (H200, "spot: a3-ultragpu-8g is not available on demand; use spot: true or a reservation in `reserved`"),
        (B200, "spot: a4-highgpu-8g is not available on demand; use spot: true or a reservation in `reserved`"),
        ({**GB200, **SPOT}, "spot: a4x-highgpu-4g is not available as spot; use a reservation in `reserved`"),
    ],
)
def test_a_way_in_which_nobody_gets_the_machine_is_one_line(settings: dict[str, Any], line: str) -> None:
    found = [each for each in problems({"cpu": CPU, "g": settings}) if "zones" not in each]
    assert found == [f"tensorplane:nodeGroups.g.{line}"]


@pytest.mark.parametrize(
    "settings",
    [
        {**H100, **SPOT},
        {**H100, "perNode": 8, "machine": "a3-highgpu-8g"},
        {**H200, **SPOT},
        {**B200, **RESERVED},
        {**GB200, **RESERVED},
    ],
)
def test_other_ways_are_not_refused(settings: dict[str, Any]) -> None:
    assert problems({"cpu": CPU, "g": settings}) == []
