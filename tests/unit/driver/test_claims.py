"""Deleted claims as a person reads of them, and when `make up` compares volumes with the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tensorplane.driver.claims import CLAIMS, find_missing, list_deleted, need_cluster

STATE = {
    "deployment": {
        "resources": [
            {"type": "kubernetes:core/v1:PersistentVolumeClaim", "urn": f"urn:{name}", "id": f"{where}/{name}"}
            for where, name in (("ml", "models"), ("ml", "there"), ("elsewhere", "tables"))
        ]
    }
}


class Api:
    """A cluster with one claim, and PersistentVolumes."""

    def __init__(self, *volumes: dict[str, Any], may_see_volumes: bool = True, terminating: bool = False) -> None:
        self._volumes, self._may = volumes, may_see_volumes
        self._deletion = {"deletionTimestamp": "2026-11-21T15:00:00Z"} if terminating else {}

    def items(self, path: str) -> list[dict[str, Any]]:
        if path == CLAIMS.format("ml"):
            return [{"metadata": {"name": "there", "namespace": "ml", **self._deletion}}]
        assert path == "/api/v1/persistentvolumes"
        if not self._may:
            raise UserError("GET persistentvolumes: forbidden")
        return list(self._volumes)


def volume(name: str, released: str, **reference: str) -> dict[str, Any]:
    claim = {"namespace": "ml", "name": "models", **reference}
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-11-01T00:00:00Z"},
        "spec": {"claimRef": claim, "persistentVolumeReclaimPolicy": "Retain"},
        "status": {"lastPhaseTransitionTime": released},
    }


RELEASED = volume("pv-1", "2026-11-21T15:00:00Z", uid="1")


@pytest.mark.parametrize(
    ("models", "api", "lost", "says"),
    [
        (
            {},
            Api(RELEASED),
            False,
            "and PersistentVolume pv-1 has its data; run `make up` or `pulumi up --refresh --stack dev` to bind",
        ),
        ({}, Api(), True, "and no PersistentVolume has its data; restore a snapshot"),
        ({}, Api(may_see_volumes=False), False, "to create it again, empty"),
        ({"from": {"snapshot": "noon"}}, Api(), False, "to create it again, from what `from` names"),
        ({"retain": False}, Api(), False, "to create it again, empty"),
        (
            {"retain": False},
            Api(RELEASED),
            False,
            "empty; PersistentVolume pv-1 has its data, and `tensorplane",
        ),
    ],
)
def test_a_claim_that_is_gone_is_one_line_with_what_the_update_makes_of_it(
    models: dict[str, Any], api: Any, lost: bool, says: str
) -> None:
    (found,) = list_deleted(STATE, "ml", {"models": models, "there": {}, "tables": {}}, api)
    assert (found.urn, found.lost) == ("urn:models", lost)
    assert str(found).startswith("tensorplane:volumes.models: its claim was deleted from the cluster")
    assert says in str(found)
    assert "\n" not in str(found)


def test_one_that_the_settings_do_not_name_any_more_is_no_loss() -> None:
    (found,) = list_deleted(STATE, "ml", {"there": {}}, Api())  # type: ignore[arg-type]
    assert not found.lost
    assert list_deleted({"deployment": {}}, "ml", {"models": {}}, Api()) == []  # type: ignore[arg-type]


def test_status_tells_of_declared_volumes_without_a_claim() -> None:
    declared: dict[str, Any] = {"models": {}, "there": {}, "new": {}}
    first, second = find_missing(declared, "ml", Api(RELEASED))  # type: ignore[arg-type]
    assert "its claim was deleted from the cluster, and PersistentVolume pv-1 has its data" in first
    assert second.startswith("tensorplane:volumes.new: has no claim in the cluster; run `make up` or `pulumi up")
    first, second = find_missing(declared, "ml", Api(RELEASED), "prod")  # type: ignore[arg-type]
    assert "run `make up STACK=prod` or `pulumi up --refresh --stack prod` to bind a new claim to it" in first
    assert "; run `make up STACK=prod` or `pulumi up --refresh --stack prod` to create it" in second


def test_a_terminating_claim_is_reported_and_not_lost() -> None:
    api: Any = Api(RELEASED, terminating=True)
    terminating, deleted = list_deleted(STATE, "ml", {"models": {}, "there": {}}, api)
    assert (terminating.urn, terminating.terminating, terminating.lost, deleted.terminating) == (
        "urn:there",
        True,
        False,
        False,
    )
    assert str(terminating).startswith("tensorplane:volumes.there: its claim is being deleted, which cannot be undone")
    assert find_missing({"there": {}}, "ml", api) == [str(terminating)]


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
