"""Volumes as a stack declares them: a snapshot by the schedule's own job, restored and cloned by one more setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.storage.claims import Claims
from tests.storage.declared import Declared, pulumi

SCHEDULED: dict[str, Any] = {"sizeGib": 1, "retain": False, "snapshots": {"schedule": "0 4 1 1 *", "keep": 2}}


@pytest.fixture
def declared(claims: Claims, tmp_path: Path) -> Declared:
    """A stack of volumes alone, and what takes their snapshots."""
    made = Declared(claims, tmp_path)
    made.load_image()
    return made


def test_a_scheduled_snapshot_is_restored_and_a_volume_cloned(declared: Declared) -> None:
    declared.up(models=SCHEDULED)
    (declared.content("models") / "version").write_text("first")
    taken = declared.snapshot_now("models")
    (declared.content("models") / "version").write_text("second")
    begun: dict[str, Any] = {
        "old": {"sizeGib": 1, "retain": False, "from": {"snapshot": taken}},
        "copy": {"sizeGib": 2, "retain": False, "from": {"volume": "models"}},
    }
    declared.up(models=SCHEDULED, **begun)
    assert (declared.content("old") / "version").read_text() == "first"
    assert (declared.content("copy") / "version").read_text() == "second"
    (declared.content("old") / "version").write_text("third")
    assert (declared.content("models") / "version").read_text() == "second"
    # Plain `pulumi` refuses it in the preview, by the same words as `make`.
    late = {**SCHEDULED, "sizeGib": 0.5, "from": {"snapshot": taken}}
    refused = pulumi(declared.stack(models=late, **begun), "preview")
    said = refused.stdout + refused.stderr
    assert refused.returncode, said
    assert f"tensorplane:volumes.models.from: is {taken}, but volume models already exists" in said
    assert (
        "tensorplane:volumes.models.sizeGib: volume models has 1 GiB and cannot shrink; set sizeGib to 1 or more"
        in said
    )
    assert "immutable" not in said

    # An origin that is left out later is no change, and lets the origin go.
    done = {"sizeGib": 1, "retain": False}
    declared.up(old=done, copy={**done, "sizeGib": 2}, acknowledge={"deleteVolume": ["models"]})
    assert (declared.content("old") / "version").read_text() == "third"
    assert (declared.content("copy") / "version").read_text() == "second"
