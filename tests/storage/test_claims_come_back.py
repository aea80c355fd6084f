"""Somebody deletes the claim of a retained volume: the next update binds its bytes again, or says that it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.driver import claims as missing_claims
from tests.storage.declared import Declared

KEPT: dict[str, Any] = {"sizeGib": 1}


def _updated(declared: Declared, volume: dict[str, Any]) -> list[str]:
    told: list[str] = []
    declared.stack(**{"comes-back": volume}).up(Step("pulumi up"), declared.claims.kube, told.append)
    return told


@pytest.mark.nightly("five runs of the engine; told by test_destructive_diffs and tests/unit/driver")
def test_it_comes_back_with_its_bytes_and_lost_ones_are_never_replaced_by_an_empty_volume(declared: Declared) -> None:
    claims, claim = declared.claims, declared.path("v1/persistentvolumeclaims", "comes-back")
    assert _updated(declared, KEPT) == []
    declared.write("comes-back", "what it held")
    volume = declared.volume("comes-back")

    claims.kube.delete(claim)
    claims.until_gone(claim)
    (missing,) = missing_claims.find_missing({"comes-back": KEPT}, declared.namespace, claims.kube, declared.name)
    assert f"PersistentVolume {volume} has its data; run `make up STACK={declared.name}`" in missing
    assert _updated(declared, KEPT) == [missing]
    assert declared.volume("comes-back") == volume
    assert declared.read("comes-back") == "what it held"

    claims.kube.delete(claim)
    claims.kube.delete(f"/api/v1/persistentvolumes/{volume}")
    claims.until_gone(claim)
    claims.until_gone(f"/api/v1/persistentvolumes/{volume}")
    with pytest.raises(UserError, match="no PersistentVolume has its data; restore a snapshot"):
        _updated(declared, KEPT)
    assert not claims.kube.get(claim)
    (recreated,) = _updated(declared, {**KEPT, "retain": False})
    assert recreated.endswith("to create it again, empty")
    assert declared.volume("comes-back") != volume
