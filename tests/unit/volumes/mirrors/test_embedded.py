"""Mirrors on the embedded cluster: classes that may change under a claim, and volumes that begin as a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane import stack
from tensorplane.components.volumes.backends import embedded
from tensorplane.embedded.cluster import csi
from tensorplane.embedded.csi.contract import DRIVER
from tests.support import rendering
from tests.support.rendering import Rendered, settings_of
from tests.support.volume_problems import lines

CLUSTER = {"kind": "embedded"}
MIRROR = {"to": {"pool": "mirror"}}


def made(folder: Path, **volumes: dict[str, Any]) -> Rendered:
    tree = {"tensorplane:cluster": CLUSTER, "tensorplane:volumes": {n: {"sizeGib": 1, **v} for n, v in volumes.items()}}
    path = folder / "settings.yaml"
    path.write_text(yaml.safe_dump({"config": tree}))
    return rendering.run(lambda: stack.build(stack.load(settings_of(path))))


def test_a_mirror_is_a_class_that_the_claim_can_leave_for_another(tmp_path: Path) -> None:
    found = made(tmp_path, hourly={"mirror": {**MIRROR, "every": "1h"}}, usual={"mirror": MIRROR}, plain={})
    claims = {one.name: one.inputs["spec"] for one in found.all("PersistentVolumeClaim")}
    assert {spec["storageClassName"] for spec in claims.values()} == {embedded.CLASS}
    assert {name: spec["volumeAttributesClassName"] for name, spec in claims.items()} == {
        "hourly": "tensorplane-dev-hourly-every-3600s-1a2b3c4d",
        "usual": "tensorplane-dev-usual-every-900s-1a2b3c4d",
        "plain": embedded.UNMIRRORED,
    }
    hourly = found.one("VolumeAttributesClass", "tensorplane-dev-hourly-every-3600s")
    assert (hourly.inputs["driverName"], hourly.inputs["parameters"]) == (DRIVER, {"mirrorSeconds": "3600"})
    assert hourly.options["retainOnDelete"], "Kubernetes would wait for every volume that has it"


def test_a_volume_that_begins_as_a_copy_has_a_class_that_says_whose_and_deletes_nothing(tmp_path: Path) -> None:
    found = made(tmp_path, again={"from": {"mirrorOf": "models"}, "retain": False, "mirror": MIRROR})
    copied = found.one("StorageClass", "tensorplane-dev-again").inputs
    assert (copied["provisioner"], copied["parameters"]) == (DRIVER, {"mirrorOf": "models"})
    assert (copied["reclaimPolicy"], copied["allowVolumeExpansion"]) == ("Retain", True)
    spec = found.one("PersistentVolumeClaim", "again").inputs["spec"]
    assert spec["storageClassName"] == copied["metadata"]["name"]
    assert "dataSource" not in spec


def test_both_sides_say_the_same_of_volumes_that_are_not_mirrored() -> None:
    assert embedded.UNMIRRORED == csi.UNMIRRORED


@pytest.mark.parametrize(
    ("volumes", "line"),
    [
        (
            {"models": {"sizeGib": 4, "mirror": MIRROR}, "again": {"sizeGib": 2, "from": {"mirrorOf": "models"}}},
            "again.sizeGib: 2 is less than volume models, which it copies; set 4 or more",
        ),
        (
            {"models": {"mirror": {**MIRROR, "every": "0m"}}},
            "models.mirror.every: invalid value '0m'; use minutes, hours or days, such as 15m, 1h or 1d",
        ),
        (
            {"models": {"mirror": {"to": {"region": "us-east-2"}}}},
            "models.mirror.to.region: backend embedded cannot mirror to a region (it mirrors to pool); no backend",
        ),
    ],
)
def test_what_cannot_be_mirrored_is_one_line(volumes: dict[str, Any], line: str) -> None:
    (found,) = lines(cluster=CLUSTER, **volumes)
    assert found.startswith(line)


def test_a_copy_of_a_volume_that_the_settings_have_no_more_is_accepted_where_a_mirror_can_be_read() -> None:
    begun = {"again": {"from": {"mirrorOf": "models"}}, "models": {"from": {"mirrorOf": "models"}}}
    assert lines(cluster=CLUSTER, **begun) == []
    (line,) = lines(models={"backend": {"kind": "storageClass"}, "from": {"mirrorOf": "models"}})
    assert line.startswith("models.from.mirrorOf: backend storageClass does not support restoring from a mirror; no")
