"""A scorer whose pods and broker are killed, and whose model server fails: each record has one result by its key."""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.stream.broker import Broker
from tests.stream.model_server import ModelServer
from tests.stream.scoring import Pods, Results
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS, eventually

_KILLS = counts.of(quick=3, nightly=50)
_RECORDS = counts.of(quick=500, nightly=10000)
_PARTITIONS = 4
_EVERY_BAD = 50


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model server that answers."""
    with ModelServer(counts.seed()).running() as server:
        yield server


@pytest.fixture
def pods(broker: Broker, topic: str, model: ModelServer, tmp_path: Path) -> Pods:
    """Pods that score a topic of one partition, which is there."""
    pods = Pods(broker, topic, model.url, tmp_path / "log.txt")
    broker.create(topic)
    broker.create(pods.output)
    return pods


def _value(number: int) -> str:
    return f'"text {number}"' if number % _EVERY_BAD == 0 else str(number)


def _expected(topic: str, count: int, partitions: int) -> dict[str, object]:
    """Results by key of records that were written in turn over the partitions."""
    found: dict[str, object] = {}
    for number in range(count):
        key = f"{topic}-{number % partitions}-{number // partitions}"
        wrong = {"error": f"'text {number}' is no number"}
        found[key] = wrong if number % _EVERY_BAD == 0 else {"prediction": 2 * number}
    return found


@pytest.mark.counted
@pytest.mark.nightly("pods and a broker of its own, killed at random")
def test_each_record_has_one_result_although_pods_and_broker_are_killed(
    own_broker: Broker, topic: str, model: ModelServer, tmp_path: Path
) -> None:
    broker, chance = own_broker, random.Random(counts.seed())
    pods = Pods(broker, topic, model.url, tmp_path / "log.txt", batch=8)
    broker.create(topic, _PARTITIONS)
    broker.create(pods.output, 2)
    model.unavailable = 0.1
    part = max(1, _RECORDS // (_KILLS + 1))
    written = 0
    with pods.running(2) as processes:
        for kill in range(_KILLS):
            # The kill comes amid records that nobody has scored yet, however fast the pods are.
            more = [_value(number) for number in range(written, written + part)]
            at = model.asked + chance.randrange(1, part)
            broker.produce(topic, more, _PARTITIONS, first=written)
            written += part
            eventually(lambda at=at: model.asked >= at, about=pods.said)  # type: ignore[misc]
            if kill % 3 == 2:
                broker.kill()
                broker.start()
            else:
                victim = chance.randrange(len(processes))
                processes[victim].kill()
                processes[victim].wait()
                processes[victim] = pods.start()
        broker.produce(topic, [_value(number) for number in range(written, _RECORDS)], _PARTITIONS, first=written)
        with closing(Results(broker, pods.output)) as results:
            eventually(lambda: len(results.newest()) >= _RECORDS, about=pods.said)
            assert results.newest() == _expected(topic, _RECORDS, _PARTITIONS)
        eventually(lambda: sum(broker.committed(pods.group, topic, _PARTITIONS)) == _RECORDS, about=pods.said)
        assert pods.stop(processes) == [0, 0], pods.said()
    assert model.largest <= 8


def test_records_that_cannot_be_scored_get_an_error_and_hold_up_no_others(
    broker: Broker, topic: str, pods: Pods
) -> None:
    broker.produce(topic, ["1", "{", '"a"', "NaN", "2"])
    with pods.running(1) as processes, closing(Results(broker, pods.output)) as results:
        eventually(lambda: len(results.newest()) == 5, about=pods.said)
        found = results.newest()
        assert (found[f"{topic}-0-0"], found[f"{topic}-0-4"]) == ({"prediction": 2}, {"prediction": 4})
        assert found[f"{topic}-0-2"] == {"error": "'a' is no number"}
        assert found[f"{topic}-0-1"]["error"].startswith("the record is no JSON")
        assert found[f"{topic}-0-3"] == {"error": "the record is no JSON: NaN is no number of JSON"}
        # Results are seen before the pod knows that they are written, and a stop does not wait for that.
        eventually(lambda: broker.committed(pods.group, topic) == [5], about=pods.said)
        assert pods.stop(processes) == [0]
    # Unknown where the broker does not answer at once.
    assert re.search("scored=5 refused=3 lag=(0|unknown)", pods.said()), pods.said()


def test_a_stopped_pod_leaves_the_records_of_an_unavailable_server_to_the_next(
    broker: Broker, topic: str, model: ModelServer, pods: Pods
) -> None:
    broker.produce(topic, ["1"])
    model.unavailable = 1.0
    with pods.running(1) as processes:
        eventually(lambda: "waiting=" in pods.said(), about=pods.said)
        assert pods.stop(processes) == [0]
    assert broker.committed(pods.group, topic) == [0]
    model.unavailable = 0.0
    with pods.running(1), closing(Results(broker, pods.output)) as results:
        eventually(lambda: results.newest() == {f"{topic}-0-0": {"prediction": 2}}, about=pods.said)


def test_what_transactions_leave_for_no_reader_is_no_lag(broker: Broker, topic: str, pods: Pods) -> None:
    broker.transact(topic, ["1"], ["2"], aborts=["3", "4"])
    with pods.running(1) as processes:
        # Records and marks of two transactions, and of one that was aborted, which nobody reads.
        eventually(lambda: broker.committed(pods.group, topic) == [7], about=pods.said)
        broker.produce(topic, ["5"])
        eventually(lambda: broker.committed(pods.group, topic) == [8], about=pods.said)
        assert pods.stop(processes) == [0]
    assert re.search("scored=3 refused=0 lag=(0|unknown)", pods.said()), pods.said()


def test_a_recreated_topic_is_scored_from_its_first_record(broker: Broker, topic: str, pods: Pods) -> None:
    broker.produce(topic, map(str, range(10)))
    with pods.running(1) as processes, closing(Results(broker, pods.output)) as results:
        eventually(lambda: broker.committed(pods.group, topic) == [10], about=pods.said)
        # It sees the new topic only once that has more records than the one before.
        processes[0].send_signal(signal.SIGSTOP)
        broker.recreate(topic)
        broker.produce(topic, map(str, range(100, 120)))
        processes[0].send_signal(signal.SIGCONT)
        assert processes[0].wait(PATIENT_SECONDS) == 1
        assert f"topic {topic}: was recreated" in pods.said()
        assert broker.committed(pods.group, topic) == [0]
        processes[0] = pods.start()
        expected = {f"{topic}-0-{each}": {"prediction": 2 * (100 + each)} for each in range(20)}
        eventually(lambda: results.newest() == expected, about=pods.said)


def test_records_that_retention_deleted_are_an_error_and_no_gap(broker: Broker, topic: str, pods: Pods) -> None:
    broker.produce(topic, ["1"])
    with pods.running(1) as processes:
        eventually(lambda: broker.committed(pods.group, topic) == [1], about=pods.said)
        pods.stop(processes)
    broker.produce(topic, ["2", "3"])
    broker.delete_before(topic, 3)
    with pods.running(1) as processes:
        assert processes[0].wait(PATIENT_SECONDS) == 1
    assert f"topic {topic}, partition 0: retention deleted records before they were scored" in pods.said()
