"""How old copies in the second pool are: when one is due, and what is said of it where."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tensorplane.embedded.csi import metrics, published
from tensorplane.embedded.csi.api import Annotations, Api
from tensorplane.embedded.csi.contract import (
    AT_ANNOTATION,
    BYTES_ANNOTATION,
    DRIVER,
    EVERY_ANNOTATION,
    MIRROR_ANNOTATION,
)
from tensorplane.embedded.csi.lag import Lag
from tensorplane.embedded.csi.published import Published
from tensorplane.embedded.csi.records import Snapshot, Volume

VOLUME = Volume("pvc-1", "pvc-1", 1 << 20, 0, None, 60, "lab/models")
COPY = Snapshot("c", "c", 1 << 20, 1_700_000_000_500_000_000, "pvc-1", "lab/models", 4096)
OFF = Volume("pvc-2", "pvc-2", 1 << 20, 0)


def test_a_copy_is_due_when_it_is_older_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for age, due in ((59_999_999_999, False), (60_000_000_000, True)):
        monkeypatch.setattr(time, "time_ns", lambda age=age: COPY.created + age)
        assert Lag(VOLUME, COPY).is_due == due
    assert Lag(VOLUME, None).is_due
    assert not Lag(OFF, None).is_due


def test_metrics_tell_of_every_copy_and_of_those_that_are_missing() -> None:
    said = metrics.text([Lag(VOLUME, COPY), Lag(OFF, None)])
    ours = '{namespace="lab",persistentvolumeclaim="models",volume="pvc-1"}'
    nobodys = '{namespace="",persistentvolumeclaim="",volume="pvc-2"}'
    assert [line for line in said.splitlines() if not line.startswith("#")] == [
        f"tensorplane_mirror_copy_timestamp_seconds{ours} 1700000000.5",
        f"tensorplane_mirror_copy_timestamp_seconds{nobodys} 0",
        f"tensorplane_mirror_interval_seconds{ours} 60",
        f"tensorplane_mirror_interval_seconds{nobodys} 0",
        f"tensorplane_mirror_copy_bytes{ours} 4096",
    ]


class Volumes(Api):
    """PersistentVolumes, without a cluster."""

    def __init__(self, *volumes: dict[str, Any]) -> None:
        self.found, self.asked, self.gone = list(volumes), 0, False

    def volumes(self) -> list[dict[str, Any]]:
        self.asked += 1
        if self.gone:
            raise ConnectionRefusedError("nobody there")
        return self.found

    def annotate(self, volume: str, said: Annotations) -> None:
        (one,) = [one for one in self.found if one["metadata"]["name"] == volume]
        one["metadata"].setdefault("annotations", {}).update(said)


def _volume(name: str, handle: str, driver: str = DRIVER) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"csi": {"driver": driver, "volumeHandle": handle}}}


def test_a_volume_says_how_old_its_copy_is_and_the_server_is_asked_only_for_news(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(published, "_AGAIN_SECONDS", 0)
    folder = {"metadata": {"name": "folder"}, "spec": {}}
    api = Volumes(_volume("adopted", "pvc-1"), _volume("other", "pvc-1", "other.csi"), folder)
    told = Published(api)
    api.gone = True
    for _ in range(3):
        told.say([Lag(VOLUME, COPY)])
    assert capsys.readouterr().out.count("nobody there") == 1
    api.gone, api.asked = False, 0
    for _ in range(3):
        told.say([Lag(VOLUME, COPY)])
    assert api.asked == 1
    assert api.found[0]["metadata"]["annotations"] == {
        MIRROR_ANNOTATION: "mirror",
        EVERY_ANNOTATION: "60",
        AT_ANNOTATION: "2023-11-14T22:13:20Z",
        BYTES_ANNOTATION: "4096",
    }
    assert not api.found[1]["metadata"].get("annotations")
    told.say([Lag(Volume("pvc-1", "pvc-1", 1, 0), COPY)])
    assert api.asked == 2
    assert api.found[0]["metadata"]["annotations"][MIRROR_ANNOTATION] is None
    told.say([Lag(VOLUME, COPY), Lag(OFF, None)])
    told.say([Lag(VOLUME, COPY), Lag(OFF, None)])
    assert api.asked == 4, "an object that is yet to come is looked for again"
    api.gone = True
    told.say([Lag(Volume("pvc-1", "pvc-1", 1, 0), COPY)])
    assert capsys.readouterr().out.count("nobody there") == 1, "what was solved and is back is said again"


def test_a_volume_without_an_object_is_retried_ever_more_rarely_and_changes_are_published_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = {"now": 100.0}
    monkeypatch.setattr(time, "monotonic", lambda: clock["now"])
    api = Volumes(_volume("other", "pvc-2"))
    told = Published(api)

    def asked_within(seconds: int, *known: Lag) -> int:
        before = api.asked
        for _ in range(seconds):
            told.say(list(known))
            clock["now"] += 1
        return api.asked - before

    assert asked_within(600, Lag(VOLUME, COPY)) < 20
    assert asked_within(3, Lag(VOLUME, COPY), Lag(OFF, COPY)) == 1
