"""Which PersistentVolume a retained volume's new claim gets, where somebody deleted the old one."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tensorplane.components.volumes import rebind
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.core.errors import ApiError
from tensorplane.core.kube import Kube

CLAIM: dict[str, Any] = {
    "metadata": {"namespace": "ml", "name": "models"},
    "spec": {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "files",
        "volumeAttributesClassName": "tensorplane-unmirrored",
    },
}


def volume(
    name: str = "pv-1", *, uid: str = "1", released: str = "2026-11-21T15:00:00Z", **spec: Any
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-11-01T00:00:00Z"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "files",
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": "ml", "name": "models", "uid": uid},
            **spec,
        },
        "status": {"lastPhaseTransitionTime": released},
    }


class Api:
    """A cluster with these PersistentVolumes."""

    def __init__(self, *volumes: dict[str, Any], claim: bool = False, refuses: int = 0) -> None:
        self._volumes, self._claim, self._refuses = volumes, claim, refuses
        self.patches: list[tuple[str, list[dict[str, Any]]]] = []

    def get(self, path: str) -> dict[str, Any] | None:
        assert path == "/api/v1/namespaces/ml/persistentvolumeclaims/models"
        return CLAIM if self._claim else None

    def items(self, path: str) -> list[dict[str, Any]]:
        assert path == "/api/v1/persistentvolumes"
        if self._refuses:
            raise ApiError(self._refuses, "Forbidden", "may not list them")
        return list(self._volumes)

    def patch(self, path: str, patch: list[dict[str, Any]], content_type: str) -> None:
        assert content_type == "application/json-patch+json"
        self.patches.append((path.removeprefix("/api/v1/persistentvolumes/"), patch))

    def json(self, method: str, path: str) -> dict[str, Any]:
        assert (method, path) == ("GET", f"/api/v1/persistentvolumes/{self.patches[-1][0]}")
        return {"status": {"phase": "Available"}}


def rebound(api: Api) -> str | None:
    return rebind.rebind(CLAIM, lambda: cast(Kube, api))


def test_the_newest_one_that_lost_a_claim_of_that_name_waits_for_the_new_claim() -> None:
    api = Api(
        volume("pv-older", released="2026-11-20T15:00:00Z"),
        volume("pv-newer"),
        volume("pv-other", claimRef={"namespace": "ml", "name": "other", "uid": "2"}),
        volume("pv-goes", released="2026-11-22T15:00:00Z", persistentVolumeReclaimPolicy="Delete"),
    )
    assert rebound(api) == "pv-newer"
    ((name, patch),) = api.patches
    assert (name, [step["op"] for step in patch]) == ("pv-newer", ["test", "replace", "add"])
    assert patch[1]["value"] == {"kind": "PersistentVolumeClaim", "namespace": "ml", "name": "models"}
    assert patch[2]["value"] == "tensorplane-unmirrored"


@pytest.mark.parametrize(
    "api",
    [
        Api(),
        Api(volume(), claim=True),
        Api(refuses=403),
        Api(
            volume("pv-newer"), volume(claimRef={"namespace": "ml", "name": "models"}, released="2026-11-20T15:00:00Z")
        ),
    ],
    ids=["nothing left", "the claim is there", "not allowed to look", "reserved already"],
)
def test_nothing_is_changed_where_there_is_nothing_to_bring_back(api: Api) -> None:
    assert rebound(api) is None
    assert api.patches == []


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"capacity": {"storage": "512Mi"}}, "it has 512Mi, but the claim requests 1Gi"),
        ({"accessModes": ["ReadWriteOnce"]}, "it does not support ReadWriteMany"),
        ({"storageClassName": "disks"}, "its StorageClass is disks, not files"),
        ({"volumeAttributesClassName": "hourly"}, "its VolumeAttributesClass is hourly, not tensorplane-unmirrored"),
    ],
)
def test_an_empty_volume_is_never_made_over_bytes_that_do_not_fit(spec: dict[str, Any], says: str) -> None:
    api = Api(volume(**spec))
    with pytest.raises(RuntimeError, match="volume models: PersistentVolume pv-1 has its earlier data") as refused:
        rebound(api)
    assert says in str(refused.value)
    assert api.patches == []


@pytest.mark.parametrize(
    ("settings", "is_rebound"),
    [
        ({}, True),
        ({"retain": False}, False),
        ({"from": {"snapshot": "noon"}}, True),
        ({"from": {"mirrorOf": "a"}}, False),
    ],
)
def test_what_is_retained_comes_back(settings: dict[str, Any], is_rebound: bool) -> None:
    assert VolumeArgs.model_validate({"sizeGib": 1, **settings}).is_rebound == is_rebound
