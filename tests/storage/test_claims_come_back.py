"""Somebody deletes the claim of a retained volume: the next update binds its bytes again, or says that it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driver import missing_claims
from embedded.fault import Fault
from embedded.step import Step
from tests.storage.claims import Claims
from tests.storage.declared import NAMESPACE, Declared

CLAIM = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/comes-back"
KEPT: dict[str, Any] = {"sizeGib": 1}


def _updated(declared: Declared, volume: dict[str, Any]) -> list[str]:
    told: list[str] = []
    declared.stack(**{"comes-back": volume}).up(Step("pulumi up"), declared.claims.kube, told.append)
    return told


def _bound(claims: Claims) -> str:
    return str(claims.until(CLAIM, lambda found: found["status"]["phase"] == "Bound")["spec"]["volumeName"])


def test_it_comes_back_with_its_bytes_and_lost_ones_are_never_replaced_by_an_empty_volume(
    claims: Claims, tmp_path: Path
) -> None:
    declared = Declared(claims, tmp_path)
    assert _updated(declared, KEPT) == []
    (declared.content("comes-back") / "file").write_text("what it held")
    volume = _bound(claims)

    claims.kube.delete(CLAIM)
    claims.until_gone(CLAIM)
    (missing,) = missing_claims.missing({"comes-back": KEPT}, NAMESPACE, claims.kube)
    assert f"PersistentVolume {volume} has its data; run `make up`" in missing
    assert _updated(declared, KEPT) == [missing]
    assert _bound(claims) == volume
    assert (declared.content("comes-back") / "file").read_text() == "what it held"

    claims.kube.delete(CLAIM)
    claims.kube.delete(f"/api/v1/persistentvolumes/{volume}")
    claims.until_gone(CLAIM)
    claims.until_gone(f"/api/v1/persistentvolumes/{volume}")
    with pytest.raises(Fault, match="no PersistentVolume has its data; restore a snapshot"):
        _updated(declared, KEPT)
    assert not claims.kube.get(CLAIM)
    (recreated,) = _updated(declared, {**KEPT, "retain": False})
    assert recreated.endswith("to create it again, empty")
    assert _bound(claims) != volume
    declared.stack(**{"comes-back": {**KEPT, "retain": False}}).destroy(Step("destroy"))
