"""The Job that makes an embedded stream's topics: when there is a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tensorplane.components.streams.topic import TopicArgs
from tests.support import computed
from tests.support.rendered_files import rendered_anew

_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
_NUMBERS: dict[str, Any] = {"topics": {"numbers": {}}}


def _disk(uid: str) -> Callable[[str, computed.State], dict[str, Any]]:
    return lambda name, inputs: {"metadata": {**inputs["metadata"], "uid": uid}}


def _job(monkeypatch: pytest.MonkeyPatch, uid: str, stream: dict[str, Any] = _NUMBERS, gib: int = 1) -> tuple[str, str]:
    """The names of the Job, and of the ConfigMap with its code."""
    monkeypatch.setitem(computed.ADDED, _CLAIM, _disk(uid))
    tree: dict[str, Any] = {"cluster": {"kind": "embedded"}, "volumes": {"events": {"sizeGib": gib}}}
    tree["streams"] = {"events": {"volume": "events", **stream}}
    made = rendered_anew(tree)
    job, code = (made.one(kind, "events-topics").inputs["metadata"]["name"] for kind in ("Job", "ConfigMap"))
    return job, code


def test_a_claim_that_was_made_anew_gets_its_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    (first, code), (second, same) = (_job(monkeypatch, uid) for uid in ("one", "another"))
    assert first != second
    assert code == same


def test_nothing_runs_again_while_disk_and_topics_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _job(monkeypatch, "one") == _job(monkeypatch, "one", gib=2)


def test_other_topics_are_another_job(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"topics": {"numbers": {"partitions": 9}}}
    assert _job(monkeypatch, "one")[0] != _job(monkeypatch, "one", more)[0]


@pytest.mark.parametrize(
    ("settings", "policy"),
    [
        ({}, "delete"),
        ({"compacted": True}, "compact,delete"),
        ({"compacted": True, "retentionHours": None}, "compact"),
        ({"compacted": True, "retentionHours": None, "retentionGib": 1}, "compact,delete"),
    ],
)
def test_a_compacted_topic_keeps_its_retention(settings: dict[str, Any], policy: str) -> None:
    assert TopicArgs.model_validate(settings).spec(1)["config"]["cleanup.policy"] == policy
