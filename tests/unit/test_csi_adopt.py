"""Taking a folder into the pool: a whole copy or a refusal, and the folder as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.cluster import adoption, csi
from embedded.csi import adopt
from embedded.csi.contract import DRIVER
from embedded.csi.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    (tmp_path / "pool").mkdir()
    store = Store(tmp_path / "pool")
    yield store
    store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    (folder / "digits" / "1").mkdir(parents=True)
    (folder / "digits" / "1" / "saved_model.pb").write_bytes(b"model" * 1000)
    (folder / "latest").symlink_to("digits/1")
    folder.chmod(0o2770)
    return folder


def test_a_volume_has_what_the_folder_has(store: Store, folder: Path) -> None:
    volume = adopt.adopt(store, folder, "tensorplane-dev-models", 1 << 20)
    assert (volume.id, volume.size) == ("tensorplane-dev-models", 1 << 20)
    assert adopt.differences(folder, store.path(volume)) == []
    assert store.path(volume).stat().st_mode & 0o7777 == 0o2770


def test_an_attempt_that_was_cut_off_is_made_anew(store: Store, folder: Path) -> None:
    volume = adopt.adopt(store, folder, "models", 1 << 20)
    (store.path(volume) / "digits" / "1" / "saved_model.pb").write_bytes(b"half")
    (store.path(volume) / "stray").touch()
    assert adopt.differences(folder, store.path(adopt.adopt(store, folder, "models", 1 << 20))) == []


def test_a_folder_larger_than_its_volume_fits(store: Store, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * (3 << 20))
    assert adopt.adopt(store, folder, "models", 1 << 20).size > 3 << 20


@pytest.mark.parametrize("change", ["content", "mode", "absent", "more", "link"])
def test_a_difference_is_told(store: Store, folder: Path, change: str) -> None:
    path = store.path(adopt.adopt(store, folder, "models", 1 << 20))
    file = path / "digits" / "1" / "saved_model.pb"
    if change == "content":
        file.write_bytes(b"Model" + file.read_bytes()[5:])
    elif change == "mode":
        file.chmod(0o600)
    elif change == "absent":
        file.unlink()
    elif change == "more":
        (path / "stray").touch()
    else:
        (path / "latest").unlink()
        (path / "latest").symlink_to("digits/2")
    assert len(adopt.differences(folder, path)) == 1


_VOLUME: dict[str, Any] = {
    "metadata": {"name": "tensorplane-dev-models", "labels": {"app.kubernetes.io/name": "models"}, "uid": "1"},
    "spec": {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteMany"],
        "local": {"path": "/home/volumes/tensorplane-dev/models"},
        "claimRef": {"namespace": "tensorplane-dev", "name": "models", "uid": "2"},
        "persistentVolumeReclaimPolicy": "Retain",
    },
}
_CLAIM: dict[str, Any] = {
    "metadata": {
        "name": "models",
        "namespace": "tensorplane-dev",
        "uid": "2",
        "annotations": {"pv.kubernetes.io/bind-completed": "yes", "owner": "team"},
    },
    "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": "tensorplane-dev-models"},
}


def test_the_claim_keeps_its_name_and_gets_the_new_volume() -> None:
    volume = adoption.successor(_VOLUME, _CLAIM, "an-id")
    todo = json.loads(volume["metadata"]["annotations"][adoption.MARK])
    assert todo["claim"]["metadata"] == {
        "name": "models",
        "namespace": "tensorplane-dev",
        "annotations": {"owner": "team"},
    }
    assert todo["claim"]["spec"]["volumeName"] == volume["metadata"]["name"] != _VOLUME["metadata"]["name"]
    assert todo["claim"]["spec"]["storageClassName"] == volume["spec"]["storageClassName"] == csi.CLASS
    assert volume["spec"]["csi"] == {"driver": DRIVER, "volumeHandle": "an-id"}
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    # The new claim gets another uid: one that is named here would keep it from binding.
    assert "uid" not in volume["spec"]["claimRef"]
    assert "local" not in volume["spec"]
