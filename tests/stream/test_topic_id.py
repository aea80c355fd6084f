"""The id of a topic: another one once it is recreated, and none where brokers give none."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Uuid
from confluent_kafka.admin import AdminClient

from tensorplane import topic_id
from tensorplane.topic_id import TopicIds
from tests.stream.broker import Broker


@pytest.fixture
def ids(broker: Broker, topic: str) -> TopicIds:
    """Asks for the test's topic."""
    return TopicIds(topic, {"bootstrap.servers": broker.bootstrap})


def test_a_recreated_topic_has_another_id(broker: Broker, topic: str, ids: TopicIds) -> None:
    assert ids.now() is None, "there is no such topic yet"
    broker.create(topic)
    before = ids.now()
    assert before is not None
    broker.grow(topic, 2)
    assert ids.now() == before
    broker.recreate(topic)
    assert topic_id.differ(before, ids.now())


@pytest.mark.parametrize("code", [None, KafkaError.UNSUPPORTED_VERSION, KafkaError._UNSUPPORTED_FEATURE])
def test_brokers_without_ids_say_nothing(
    monkeypatch: pytest.MonkeyPatch, topic: str, ids: TopicIds, code: int | None
) -> None:
    _answers(monkeypatch, topic, code)
    assert ids.now() is None
    assert not topic_id.differ("the-topic", None)
    assert not topic_id.differ(None, "the-topic")


def test_a_client_without_an_answer_is_replaced(
    monkeypatch: pytest.MonkeyPatch, broker: Broker, topic: str, ids: TopicIds
) -> None:
    broker.create(topic)
    first = ids._admin
    with monkeypatch.context() as patched:
        _answers(patched, topic, KafkaError._TIMED_OUT)
        with pytest.raises(KafkaException):
            ids.now()
    assert ids._admin is not first
    assert ids.now() is not None


def _answers(monkeypatch: pytest.MonkeyPatch, topic: str, code: int | None) -> None:
    """Lets Kafka answer this error, or without one, no id."""
    future: Future[Any] = Future()
    if code is None:
        future.set_result(SimpleNamespace(topic_id=Uuid(0, 0)))
    else:
        future.set_exception(KafkaException(KafkaError(code)))
    monkeypatch.setattr(AdminClient, "describe_topics", lambda self, topics, request_timeout: {topic: future})
