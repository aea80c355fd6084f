"""Topics come out as they are declared, whatever there was: made, grown, told anew; never smaller and never gone."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tensorplane.agents.topics import __main__ as topics
from tests.stream.broker import Broker
from tests.support.waiting import PATIENT_SECONDS


def _spec(partitions: int, **config: str) -> dict[str, Any]:
    return {"partitions": partitions, "replicas": 1, "config": config}


def test_a_topic_is_made_grows_and_changes_its_retention(broker: Broker, topic: str) -> None:
    first = {topic: _spec(1, **{"retention.ms": "3600000"})}
    assert topics.declare(broker.bootstrap, first) == [f"topic {topic}: created, 1 partitions"]
    assert topics.declare(broker.bootstrap, first) == []
    broker.produce(topic, ["kept"])
    then = {topic: _spec(3, **{"retention.ms": "-1"})}
    done = topics.declare(broker.bootstrap, then)
    assert done == [f"topic {topic}: 3 partitions, 1 before", f"topic {topic}: retention.ms=-1"]
    assert topics.declare(broker.bootstrap, then) == []


def test_what_the_broker_does_not_show_is_told_in_a_line(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.create(topic)
    clock = itertools.count(step=20)
    counted = SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None)
    monkeypatch.setattr(topics, "time", counted)
    # As if Kafka had acknowledged the partitions, and never showed them.
    monkeypatch.setattr(AdminClient, "create_partitions", lambda self, new: {})
    monkeypatch.setattr("sys.argv", ["topics", broker.bootstrap, json.dumps({topic: _spec(2)})])
    assert topics.main() == 1
    told = f"topic {topic}: the broker does not show the change after 30 s; deploy the stack again\n"
    assert capsys.readouterr().err == told


def test_fewer_partitions_are_refused_before_anything_is_done(broker: Broker, topic: str) -> None:
    other = f"{topic}-other"
    topics.declare(broker.bootstrap, {topic: _spec(2)})
    with pytest.raises(
        ValueError,
        match=f"topic {topic}: has 2 partitions, but the settings declare 1; Kafka cannot remove",
    ):
        topics.declare(broker.bootstrap, {other: _spec(1), topic: _spec(1)})
    shown = AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=PATIENT_SECONDS)
    assert other not in shown.topics
