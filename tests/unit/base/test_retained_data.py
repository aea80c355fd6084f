"""Which PersistentVolume has the bytes of a claim that is gone."""

from __future__ import annotations

from typing import Any

from tensorplane.components.base import retained_data


def _volume(name: str, released: str = "2026-11-21T15:00:00Z", **former: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-11-01T00:00:00Z"},
        "spec": {
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": "ml", "name": "models", **former},
        },
        "status": {"lastPhaseTransitionTime": released},
    }


def test_a_reserved_volume_counts_before_the_one_released_last() -> None:
    older, newer = _volume("pv-1", uid="1"), _volume("pv-2", "2026-11-22T15:00:00Z", uid="2")
    reserved = _volume("pv-3", "2026-11-20T15:00:00Z")
    assert retained_data.holder([newer, older], "ml", "models") == newer
    assert retained_data.holder([newer, reserved, older], "ml", "models") == reserved
    assert retained_data.holder([newer], "ml", "other") is None


def test_a_claim_that_names_its_volume_gets_no_other() -> None:
    named = {"metadata": {"namespace": "ml", "name": "models"}, "spec": {"volumeName": "pv-2"}}
    assert retained_data.to_reserve(named, [_volume("pv-1", uid="1")]) is None
    assert retained_data.to_reserve(named, [_volume("pv-1", uid="1"), _volume("pv-2", uid="2")])
