"""Clients that have lost their brokers for ever (librdkafka's issue 5301) are replaced, and no record is lost."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from tensorplane import kafka_consumer, score, stream
from tensorplane.datasets import Dataset
from tensorplane.record import Recorder
from tensorplane.score import Scorer
from tests.stream.broker import Broker
from tests.stream.model_server import ModelServer
from tests.stream.scoring import Results
from tests.support.waiting import PATIENT_SECONDS, eventually

_DOWN = KafkaException(KafkaError(KafkaError._TRANSPORT))


class _Client:
    """A client that hears nothing more once it is deaf."""

    def __init__(self, real: Any) -> None:
        self.real, self.is_deaf = real, False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def asked(*given: Any, **named: Any) -> Any:
            if not self.is_deaf or name == "close":
                return getattr(self.real, name)(*given, **named)
            if name in ("list_topics", "get_watermark_offsets", "committed", "commit"):
                raise _DOWN
            return {"consume": [], "flush": 1}.get(name)

        return asked


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[_Client]]:
    """Consumers and producers of the library in the order in which they were made; who hears nothing is lost soon."""
    made: list[_Client] = []

    def of(kind: type, settings: dict[str, Any]) -> _Client:
        made.append(_Client(kind(settings)))
        return made[-1]

    for module, kind in ((kafka_consumer, Consumer), (stream, Consumer), (score, Producer)):
        monkeypatch.setattr(module, kind.__name__, functools.partial(of, kind))
    monkeypatch.setattr(kafka_consumer, "LOST_SECONDS", 0.0)
    monkeypatch.setattr(kafka_consumer, "Throttle", functools.partial(kafka_consumer.Throttle, 0.0))
    yield made


@contextmanager
def _running(run: Callable[[], None], stop: threading.Event) -> Iterator[None]:
    failed: list[BaseException] = []

    def catch() -> None:
        try:
            run()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=catch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENT_SECONDS)
    assert not failed


def test_a_lost_client_is_one_that_gets_no_answer_for_a_minute() -> None:
    now = [0.0]
    brokers = kafka_consumer.Brokers("clicks", clock=lambda: now[0])
    for answered in (False, True, False):
        now[0] += 1000.0  # nobody asked meanwhile, which says nothing
        brokers.have_answered() if answered else brokers.have_failed(_DOWN)
    now[0] += kafka_consumer.LOST_SECONDS - 1
    brokers.have_failed(_DOWN)
    now[0] += 1
    with pytest.raises(kafka_consumer.BrokersLost):
        brokers.have_failed(_DOWN)


def test_an_error_of_a_broker_is_an_answer() -> None:
    now = [0.0]
    brokers = kafka_consumer.Brokers("clicks", clock=lambda: now[0])
    for _ in range(9):
        now[0] += kafka_consumer.LOST_SECONDS
        brokers.have_failed(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
    brokers.have_failed(_DOWN)


def test_a_recorder_goes_on_with_a_new_client(
    broker: Broker, topic: str, tmp_path: Path, clients: list[_Client]
) -> None:
    asked = {
        "name": "recorder",
        "stream": "events",
        "topic": topic,
        "branch": "main",
        "root": str(tmp_path / "dataset"),
        "window": {"records": 3, "size": 10**6, "seconds": 10.0**6},
        "layout": "lines",
        "lost": "stop",
        "rules": {},
    }
    broker.create(topic)
    stop, dataset = threading.Event(), Dataset(tmp_path / "dataset")
    recorder = Recorder({"STREAMS": _streams(broker, topic), "RECORDER": json.dumps(asked)}, stop)

    def values() -> list[int]:
        there = sorted(dataset.open().rglob("*.jsonl")) if "main" in dataset.branches() else []
        return [int(line) for path in there for line in path.read_text().splitlines()]

    with _running(recorder.run, stop):
        broker.produce(topic, map(str, range(4)))
        eventually(lambda: values() == [0, 1, 2])
        clients[0].is_deaf = True  # the fourth record is read, and in no commit
        broker.produce(topic, map(str, range(4, 6)), first=4)
        eventually(lambda: values() == list(range(6)))
    assert len(clients) == 2


def test_a_scorer_goes_on_with_new_clients(broker: Broker, topic: str, clients: list[_Client]) -> None:
    stop, output = threading.Event(), f"{topic}-scores"
    broker.create(topic)
    broker.create(output)
    with ModelServer().running() as model, closing(Results(broker, output)) as results:
        places = {"INPUT_TOPIC": topic, "OUTPUT_TOPIC": output, "PREDICT_URL": model.url, "BATCH": "8"}
        scorer = Scorer({"STREAMS": _streams(broker, topic, output), **places}, stop)

        def scores(count: int) -> bool:
            return [results.newest().get(f"{topic}-0-{each}") for each in range(count)] == [
                {"prediction": 2 * each} for each in range(count)
            ]

        with _running(scorer.run, stop):
            broker.produce(topic, ["0"])
            eventually(lambda: scores(1))
            reader, writer = clients
            reader.is_deaf = True
            broker.produce(topic, ["1"], first=1)
            eventually(lambda: scores(2))
            _, writer = clients[-2:]
            writer.is_deaf = True  # results of what is read next are lost
            broker.produce(topic, ["2"], first=2)
            eventually(lambda: scores(3))
    assert len(clients) == 6


def test_the_reader_of_a_training_job_goes_on_with_a_new_client(
    broker: Broker, topic: str, clients: list[_Client]
) -> None:
    broker.create(topic)
    broker.produce(topic, map(str, range(5)))
    here = stream.Topic(broker.bootstrap, topic, f"{topic}-readers")
    reader = stream._Reader(here, {0: 0}, np.zeros(1, np.int64), lambda: False, lambda _: None)
    batches = reader.read(3, 3)
    values, moved = next(batches)
    assert (values, moved.tolist()) == ([b"0", b"1", b"2"], [3])
    clients[0].is_deaf = True
    broker.produce(topic, map(str, range(5, 9)), first=5)
    assert [values for values, _ in batches] == [[b"3", b"4", b"5"], [b"6", b"7", b"8"]]
    assert len(clients) == 2


def _streams(broker: Broker, topic: str, output: str = "") -> str:
    found = {"input": {"bootstrap": broker.bootstrap, "topics": [topic], "group": f"{topic}-group", "settings": {}}}
    if output:
        found["output"] = {"bootstrap": broker.bootstrap, "topics": [output], "settings": {}}
    return json.dumps(found)
