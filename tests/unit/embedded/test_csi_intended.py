"""A volume is mirrored as its class says, also where nobody told the driver."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tensorplane.embedded.csi import watching
from tensorplane.embedded.csi.api import Api
from tensorplane.embedded.csi.contract import DRIVER
from tensorplane.embedded.csi.intended import Intended, intended
from tensorplane.embedded.csi.sizes import SizeRange
from tensorplane.embedded.csi.store import Store, VolumeRecord

OTHERS = {"metadata": {"name": "fast"}, "driverName": "other.csi", "parameters": {"mirrorSeconds": "9"}}


def _class(name: str, seconds: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "driverName": DRIVER, "parameters": {"mirrorSeconds": seconds}}


def _volume(id_: str, of_class: str, claim: str = "models", phase: str = "Bound") -> dict[str, Any]:
    return {
        "spec": {
            "csi": {"driver": DRIVER, "volumeHandle": id_},
            "claimRef": {"namespace": "lab", "name": claim},
            "volumeAttributesClassName": of_class,
        },
        "status": {"phase": phase},
    }


class Server(Api):
    """What the API server has, without one."""

    def __init__(self, *volumes: dict[str, Any]) -> None:
        self.found, self.gone = list(volumes), False

    def volumes(self) -> list[dict[str, Any]]:
        return self.found

    def classes(self) -> list[dict[str, Any]]:
        if self.gone:
            raise ConnectionRefusedError("nobody there")
        return [_class("minutely", "60"), _class("off", "0"), OTHERS]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def _mirrors(store: Store) -> dict[str, tuple[int, str]]:
    return {one.id: (one.mirror_seconds, one.claim) for one in store.all_volumes()}


def test_a_volume_that_its_claim_came_back_to_is_copied_again(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first", "second"):
        store.create_volume(name, SizeRange(), None, VolumeRecord(60, "lab/models"))
    assert _mirrors(store) == {"first": (0, ""), "second": (60, "lab/models")}
    compared = Intended(store, Server(_volume("first", "minutely"), _volume("second", "minutely", phase="Released")))
    compared.look()
    assert _mirrors(store)["first"] == (0, ""), "the resizer may be about to write down what it has done"
    compared.look()
    assert _mirrors(store) == {"first": (60, "lab/models"), "second": (0, "")}
    compared.look()
    said = "volume first of claim lab/models: copied every 60 seconds again, as its class says\n"
    assert capsys.readouterr().out == said


def test_a_mirror_that_its_class_does_not_have_ends(store: Store) -> None:
    store.create_volume("one", SizeRange(), None, VolumeRecord(60, "lab/models"))
    compared = Intended(store, Server(_volume("one", "off")))
    for _ in range(2):
        compared.look()
    assert _mirrors(store) == {"one": (0, "lab/models")}


def test_what_changes_between_two_looks_is_left_to_the_resizer(store: Store) -> None:
    store.create_volume("one", SizeRange(), None, VolumeRecord(60, "lab/models"))
    server = Server(_volume("one", "off"))
    compared = Intended(store, server)
    compared.look()
    server.found = [_volume("one", "minutely")]
    compared.look()
    server.found = [_volume("one", "off")]
    compared.look()
    assert _mirrors(store) == {"one": (60, "lab/models")}


@pytest.mark.parametrize(
    "volume",
    [
        _volume("one", "minutely", phase="Released"),
        _volume("one", "fast"),
        _volume("one", "gone"),
        {**_volume("one", "minutely"), "spec": {"hostPath": {}}},
        {**_volume("one", "minutely"), "spec": {**_volume("one", "minutely")["spec"], "csi": {"driver": "other.csi"}}},
    ],
)
def test_what_says_nothing_of_our_mirrors_changes_none(volume: dict[str, Any]) -> None:
    assert intended([volume], Server().classes()) == {}


def test_volumes_that_the_pool_lacks_are_ignored(store: Store) -> None:
    compared = Intended(store, Server(_volume("lost", "minutely")))
    for _ in range(2):
        compared.look()
    assert _mirrors(store) == {}


def test_an_api_server_that_does_not_answer_is_said_once_until_it_does(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server()
    compared = Intended(store, server)
    monkeypatch.setattr(watching, "watch", lambda look, *_: [look() for _ in range(3)])
    for gone, times in ((True, 1), (False, 0), (True, 1)):
        server.gone = gone
        compared.watch(threading.Event())
        assert capsys.readouterr().out.count("nobody there") == times
