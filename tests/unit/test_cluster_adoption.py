"""Moving claims into the pool, cut off after each single step: the next start comes to the same end."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, cast

import pytest

from embedded.cluster import adoption, csi
from embedded.cluster.places import Places
from embedded.cluster.processes import Alive
from embedded.paths import Instance
from embedded.progress import Step
from embedded.provider.api import GVK, Api, ApiError


class _CutOffError(Exception):
    """The process was killed here."""


class _Server:
    """An API server of few words, which dies before the change with a given number."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.objects = {(one["kind"], one["metadata"]["name"]): one for one in objects}
        self.changes_left = 10**6
        self._uid = 100

    def _change(self) -> None:
        self.changes_left -= 1
        if self.changes_left < 0:
            raise _CutOffError

    def list(self, kind: GVK) -> list[dict[str, Any]]:
        return [copy.deepcopy(one) for one in self.objects.values() if one["kind"] == kind.kind]

    def get(self, kind: GVK, name: str, _: str | None = None) -> dict[str, Any]:
        if (kind.kind, name) not in self.objects:
            raise ApiError(404, "NotFound", name)
        return copy.deepcopy(self.objects[kind.kind, name])

    def create(self, wanted: dict[str, Any], *, manager: str) -> None:
        assert (wanted["kind"], wanted["metadata"]["name"]) not in self.objects
        self.apply(wanted, manager=manager)

    def apply(self, wanted: dict[str, Any], *, manager: str, force: bool = False) -> None:
        self._change()
        self._uid += 1
        made = {**wanted, "metadata": {**wanted["metadata"], "uid": str(self._uid)}}
        self.objects[wanted["kind"], wanted["metadata"]["name"]] = made

    def patch(self, kind: GVK, name: str, _: str | None, body: Any, *, manager: str) -> None:
        self._change()
        meta = self.objects[kind.kind, name]["metadata"]
        for key, value in body["metadata"].items():
            if key == "annotations":
                meta["annotations"] = {k: v for k, v in {**meta.get(key, {}), **value}.items() if v is not None}
            elif value is None:
                meta.pop(key, None)

    def delete(self, kind: GVK, name: str, _: str | None = None, *, uid: str) -> None:
        self._change()
        meta = self.objects[kind.kind, name]["metadata"]
        assert (meta["uid"], meta.get("finalizers")) == (uid, None)
        del self.objects[kind.kind, name]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    at = Places(Instance("test"))
    _folder(at).mkdir(parents=True)
    (_folder(at) / "model").write_text("bytes")
    return at


def _folder(at: Places) -> Path:
    return at.instance.volumes / "ml" / "models"


def _server(at: Places) -> _Server:
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "ml-models", "uid": "1", "finalizers": ["kubernetes.io/pv-protection"]},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "local": {"path": str(_folder(at))},
            "claimRef": {"namespace": "ml", "name": "models"},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "models", "namespace": "ml", "uid": "2", "finalizers": ["kubernetes.io/pvc-protection"]},
        "spec": {"storageClassName": "", "volumeName": "ml-models"},
    }
    return _Server(volume, claim)


def _adopt(at: Places, server: _Server) -> None:
    adoption.adopt_all(at, Alive(1), cast(Api, server), Step("cluster"))


@pytest.fixture(autouse=True)
def copies(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that were copied, which is not done here."""
    made: list[Path] = []

    def copied(_at: Places, _alive: Alive, folder: Path, _volume: dict[str, Any]) -> str:
        made.append(folder)
        return "an-id"

    monkeypatch.setattr(adoption, "_copy", copied)
    return made


@pytest.mark.parametrize("changes", range(8))
def test_a_start_that_is_cut_off_is_finished_by_the_next(at: Places, changes: int) -> None:
    server = _server(at)
    server.changes_left = changes
    if changes < 7:
        with pytest.raises(_CutOffError):
            _adopt(at, server)
        server.changes_left = 10**6
    _adopt(at, server)
    assert set(server.objects) == {("PersistentVolume", "ml-models-pool"), ("PersistentVolumeClaim", "models")}
    claim = server.objects["PersistentVolumeClaim", "models"]
    assert (claim["spec"]["volumeName"], claim["spec"]["storageClassName"]) == ("ml-models-pool", csi.CLASS)
    assert adoption.MARK not in server.objects["PersistentVolume", "ml-models-pool"]["metadata"]["annotations"]
    assert (at.adopted / "ml" / "models" / "model").read_text() == "bytes"


def test_the_folder_stays_until_the_claim_has_its_new_volume(at: Places) -> None:
    for changes in range(4):
        server = _server(at)
        server.changes_left = changes
        with pytest.raises(_CutOffError):
            _adopt(at, server)
        assert (_folder(at) / "model").read_text() == "bytes"


def test_it_is_done_once(at: Places, copies: list[Path]) -> None:
    server = _server(at)
    _adopt(at, server)
    before = copy.deepcopy(server.objects)
    # Somebody deleted the claim on purpose: it must not come back.
    del server.objects["PersistentVolumeClaim", "models"]
    _adopt(at, server)
    assert (len(copies), len(server.objects)) == (1, len(before) - 1)


@pytest.mark.parametrize("what", ["elsewhere", "unbound", "of another claim"])
def test_other_volumes_are_left_alone(at: Places, copies: list[Path], what: str) -> None:
    server = _server(at)
    spec = server.objects["PersistentVolume", "ml-models"]["spec"]
    if what == "elsewhere":
        spec["local"]["path"] = str(at.instance.home)
    elif what == "unbound":
        del spec["claimRef"]
    else:
        server.objects["PersistentVolumeClaim", "models"]["spec"]["volumeName"] = "other"
    before = copy.deepcopy(server.objects)
    _adopt(at, server)
    assert (copies, server.objects) == ([], before)


def test_a_folder_of_an_earlier_adoption_is_kept(at: Places) -> None:
    for text in ("bytes", "newer"):
        _folder(at).mkdir(parents=True, exist_ok=True)
        (_folder(at) / "model").write_text(text)
        _adopt(at, _server(at))
    found = sorted(path.read_text() for path in at.adopted.rglob("model"))
    assert found == ["bytes", "newer"]
