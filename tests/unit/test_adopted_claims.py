"""A stack's state after its claims moved into the pool: nothing to replace, nothing that names what is gone."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from embedded import adopted_claims
from embedded.cluster import csi

_URN = "urn:pulumi:dev::tensorplane::"


def _resource(kind: str, id_: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    inputs = {"kind": kind, "spec": spec}
    outputs = {"__inputs": copy.deepcopy(inputs), "spec": {**spec}, "__fieldManager": "pulumi-1", "metadata": {}}
    urn = f"{_URN}{kind}::{id_}"
    return {"urn": urn, "type": f"kubernetes:core/v1:{kind}", "id": id_, "inputs": inputs, "outputs": outputs, **more}


def _live(storage_class: str) -> dict[str, Any]:
    spec = {"storageClassName": storage_class, "volumeName": "ml-models-pool"}
    return {"metadata": {"namespace": "ml", "name": "models", "uid": "new"}, "spec": spec, "status": {"phase": "Bound"}}


@pytest.fixture
def export() -> dict[str, Any]:
    volume = _resource("PersistentVolume", "ml-models", {"local": {"path": "/volumes/ml/models"}}, protect=True)
    other = _resource("PersistentVolume", "ml-other", {"local": {"path": "/volumes/ml/other"}}, protect=True)
    needs = {
        "dependencies": [f"{_URN}Namespace::ml", volume["urn"]],
        "propertyDependencies": {"spec": [volume["urn"]], "metadata": [f"{_URN}Namespace::ml"]},
        "protect": True,
    }
    claim = _resource(
        "PersistentVolumeClaim", "ml/models", {"storageClassName": "", "volumeName": "ml-models"}, **needs
    )
    job = {"urn": f"{_URN}Job::x", "type": "kubernetes:batch/v1:Job", "id": "ml/x", "dependencies": [claim["urn"]]}
    return {"version": 3, "deployment": {"manifest": {}, "resources": [volume, other, claim, job]}}


def test_the_claim_is_as_if_it_was_made_in_the_pool(export: dict[str, Any]) -> None:
    known = adopted_claims.brought_up_to_date(export, [_live(csi.CLASS)])
    assert known
    assert [found["id"] for found in known["deployment"]["resources"]] == ["ml-other", "ml/models", "ml/x"]
    claim = known["deployment"]["resources"][1]
    assert claim["inputs"]["spec"] == claim["outputs"]["__inputs"]["spec"] == {"storageClassName": csi.CLASS}
    assert claim["outputs"]["spec"]["volumeName"] == "ml-models-pool"
    assert (claim["outputs"]["metadata"]["uid"], claim["outputs"]["__fieldManager"]) == ("new", "pulumi-1")
    assert claim["protect"] is True


def test_nothing_names_the_volume_that_is_gone(export: dict[str, Any]) -> None:
    known = adopted_claims.brought_up_to_date(export, [_live(csi.CLASS)])
    assert "PersistentVolume::ml-models" not in json.dumps(known)
    assert known and known["deployment"]["resources"][2]["dependencies"] == [f"{_URN}PersistentVolumeClaim::ml/models"]


@pytest.mark.parametrize("live", [[], [_live("")], [_live("another")]])
def test_a_claim_that_was_not_moved_changes_nothing(export: dict[str, Any], live: list[dict[str, Any]]) -> None:
    assert adopted_claims.brought_up_to_date(export, live) is None


def test_a_second_time_there_is_nothing_to_do(export: dict[str, Any]) -> None:
    known = adopted_claims.brought_up_to_date(export, [_live(csi.CLASS)])
    assert known and adopted_claims.brought_up_to_date(known, [_live(csi.CLASS)]) is None
