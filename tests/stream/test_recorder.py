"""A recorder that is killed with its broker, or has a second one beside it: each record is in the dataset once."""

from __future__ import annotations

import io
import itertools
import json
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from tensorplane import record_position
from tensorplane.datasets import Dataset, Note
from tensorplane.record_position import Source
from tests.stream.broker import Broker
from tests.stream.processes import Processes
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS, eventually

_KILLS = counts.of(quick=4, nightly=50)
_RECORDS = counts.of(quick=400, nightly=10000)
_PARTITIONS = 3


def _of_records(count: int) -> dict[str, float]:
    """Windows that end by their records alone, however slowly those are read."""
    return {"records": count, "size": 10**6, "seconds": 10.0**6}


class Recording(Processes):
    """Processes that run the library's program as the recorder's pod does, and their dataset."""

    def __init__(self, broker: Broker, topic: str, folder: Path, *, group: str = "", **asked: Any) -> None:
        self.root, self.dataset = folder / "dataset", Dataset(folder / "dataset")
        self.group, self.branch = group or f"{topic}-recorder", asked.get("branch", "main")
        recorder = {
            "name": "clicks-recorder",
            "stream": "events",
            "topic": topic,
            "branch": "main",
            "root": str(self.root),
            "window": {"records": 8, "size": 10**6, "seconds": 0.2},
            "layout": "lines",
            "lost": "stop",
            "rules": {},
            **asked,
        }
        streams = {"input": {"bootstrap": broker.bootstrap, "topics": [topic], "group": self.group, "settings": {}}}
        environment = {"STREAMS": json.dumps(streams), "RECORDER": json.dumps(recorder)}
        super().__init__("tensorplane.record", environment, folder / "log.txt")

    def commits(self) -> int:
        """So far."""
        return len(list(self.dataset.log(self.branch))) if self.branch in self.dataset.branches() else 0

    def values(self) -> list[int]:
        """The numbers in all lines of the newest version, in order."""
        if not self.commits():
            return []
        found = self.dataset.open(self.branch)
        return sorted(int(line) for path in found.rglob("*.jsonl") for line in path.read_text().splitlines())

    def windows(self) -> list[dict[str, Any]]:
        """What each commit says about its window, the oldest first."""
        return [made.provenance["stream"] for made in self.dataset.log()][::-1]


@pytest.mark.counted
@pytest.mark.nightly("two recorders and a broker of their own, killed at random")
def test_each_record_is_in_the_dataset_once_although_recorders_and_broker_are_killed(
    own_broker: Broker, topic: str, tmp_path: Path
) -> None:
    broker, chance = own_broker, random.Random(counts.seed())
    recording = Recording(broker, topic, tmp_path)
    broker.create(topic, _PARTITIONS)
    part, written = max(1, _RECORDS // (_KILLS + 1)), 0
    # Two at once, as after a node is lost whose pod still runs: one of them loses each window.
    with recording.running(2) as processes:
        for kill in range(_KILLS):
            at = recording.commits() + chance.randrange(1, max(2, part // 16))
            broker.produce(topic, map(str, range(written, written + part)), _PARTITIONS, first=written)
            written += part
            eventually(lambda at=at: recording.commits() >= at, about=recording.said)  # type: ignore[misc]
            if kill % 4 == 3:
                broker.kill()
                broker.start()
            else:
                victim = chance.randrange(len(processes))
                processes[victim].kill()
                processes[victim].wait()
                processes[victim] = recording.start()
        broker.produce(topic, map(str, range(written, _RECORDS)), _PARTITIONS, first=written)
        eventually(lambda: len(recording.values()) >= _RECORDS, about=recording.said)
        assert recording.values() == list(range(_RECORDS))
        assert [process.poll() for process in processes] == [None, None], recording.said()
    windows = recording.windows()
    assert sum(each["records"] for each in windows) == _RECORDS
    assert all(before["to"].items() <= after["from"].items() for before, after in itertools.pairwise(windows))
    assert sum(windows[-1]["to"].values()) == _RECORDS


def test_a_stopped_recorder_goes_on_after_its_newest_commit(broker: Broker, topic: str, tmp_path: Path) -> None:
    recording = Recording(broker, topic, tmp_path, window=_of_records(3))
    broker.create(topic)
    broker.produce(topic, map(str, range(5)))
    with recording.running() as (process,):
        eventually(lambda: recording.values() == [0, 1, 2], about=recording.said)
        eventually(lambda: broker.committed(recording.group, topic) == [3], about=recording.said)
        process.terminate()
        assert process.wait(PATIENT_SECONDS) == 0, recording.said()
    broker.produce(topic, ["5"], first=5)
    with recording.running():
        eventually(lambda: recording.values() == list(range(6)), about=recording.said)
    assert [each["to"] for each in recording.windows()] == [{"0": 3}, {"0": 6}]


def test_records_that_retention_deleted_stop_it_unless_they_may_be_lost(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    recording = Recording(broker, topic, tmp_path)
    broker.create(topic)
    broker.produce(topic, ["0"])
    with recording.running() as (process,):
        eventually(lambda: recording.values() == [0], about=recording.said)
        process.terminate()
        process.wait(PATIENT_SECONDS)
    broker.produce(topic, ["1", "2", "3"])
    broker.delete_before(topic, 3)
    with recording.running() as (process,):
        assert process.wait(PATIENT_SECONDS) == 1
    assert f"topic {topic}, partition 0: the next record is 1, Kafka has 3 to 4: retention deleted" in recording.said()
    with Recording(broker, topic, tmp_path, lost="skip").running():
        eventually(lambda: recording.values() == [0, 3], about=recording.said)
    assert recording.windows()[-1]["skipped"] == {"0": 2}


def _record_ten(recording: Recording, broker: Broker, topic: str) -> None:
    broker.create(topic)
    broker.produce(topic, map(str, range(10)))
    with recording.running() as (process,):
        eventually(lambda: recording.values() == list(range(10)), about=recording.said)
        process.terminate()
        assert process.wait(PATIENT_SECONDS) == 0, recording.said()


@pytest.mark.parametrize("records", [3, 15])
@pytest.mark.parametrize("lost", ["stop", "skip"])
def test_a_recreated_topic_is_refused_until_another_branch_is_set(
    broker: Broker, topic: str, tmp_path: Path, records: int, lost: str
) -> None:
    recording, new = Recording(broker, topic, tmp_path, lost=lost), list(range(100, 100 + records))
    _record_ten(recording, broker, topic)
    broker.recreate(topic)
    broker.produce(topic, map(str, new))
    with recording.running() as (process,):
        assert process.wait(PATIENT_SECONDS) == 1
    assert f"topic {topic}: was recreated, or is in another Kafka cluster (its id is " in recording.said()
    assert "); set another `dataset` or `branch`, where the recorder begins" in recording.said()
    assert recording.values() == list(range(10))
    remedied = Recording(broker, topic, tmp_path, branch="new")
    with remedied.running():
        eventually(lambda: remedied.values() == new, about=remedied.said)
    assert recording.values() == list(range(10))


def test_a_topic_that_is_recreated_while_it_is_recorded_ends_the_pod(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    recording = Recording(broker, topic, tmp_path, window={"records": 100, "size": 10**6, "seconds": 0.5})
    broker.create(topic)
    broker.produce(topic, map(str, range(10)))
    with recording.running() as (process,):
        eventually(lambda: recording.values() == list(range(10)), about=recording.said)
        # It sees the new topic only once that has more records than the one before.
        process.send_signal(signal.SIGSTOP)
        broker.recreate(topic)
        broker.produce(topic, map(str, range(100, 120)))
        process.send_signal(signal.SIGCONT)
        assert process.wait(PATIENT_SECONDS) == 1
    assert f"topic {topic}: was recreated" in recording.said()
    assert recording.values() == list(range(10))


def test_offsets_without_an_id_get_that_of_the_topic(broker: Broker, topic: str, tmp_path: Path) -> None:
    """Those of an earlier version."""
    recording = Recording(broker, topic, tmp_path)
    broker.create(topic)
    broker.produce(topic, map(str, range(4)))
    source = Source("events", topic, recording.group)
    about = record_position.provenance(source, None, {0: 0}, {0: 2}, 2, {})
    recording.dataset.store.create()
    recording.dataset.put({"0/0.jsonl": recording.dataset.keep(io.BytesIO(b"0\n1\n"))}, note=Note(provenance=about))
    with recording.running():
        eventually(lambda: recording.values() == [0, 1, 2, 3], about=recording.said)
    first, *others = [each.get("topicId") for each in recording.windows()]
    assert first is None
    assert all(others)


@pytest.mark.parametrize("records", [5, 4])
def test_another_group_does_not_record_what_the_dataset_has(
    broker: Broker, topic: str, tmp_path: Path, records: int
) -> None:
    recording = Recording(broker, topic, tmp_path, window=_of_records(5))
    _record_ten(recording, broker, topic)
    other = Recording(broker, topic, tmp_path, group="other", window=_of_records(records))
    with other.running() as (process,):
        assert process.wait(PATIENT_SECONDS) == 1
    problem = f"has records of events/{topic}, recorded by group {recording.group}"
    assert (
        f"tensorplane: dataset dataset, branch main: {problem}; set that source again, or set another" in other.said()
    )
    assert recording.values() == list(range(10))


def test_what_transactions_leave_for_no_reader_is_no_lag(broker: Broker, topic: str, tmp_path: Path) -> None:
    recording = Recording(broker, topic, tmp_path, window=_of_records(1))
    broker.create(topic)
    broker.transact(topic, ["1"], ["2"], aborts=["3", "4"])
    with recording.running():
        eventually(lambda: broker.committed(recording.group, topic) == [7], about=recording.said)
        assert recording.values() == [1, 2]
        broker.produce(topic, ["5"])
        eventually(lambda: broker.committed(recording.group, topic) == [8], about=recording.said)
    assert recording.values() == [1, 2, 5]


def test_a_file_for_each_record_has_its_bytes(broker: Broker, topic: str, tmp_path: Path) -> None:
    recording = Recording(broker, topic, tmp_path, layout="files", branch="live", window=_of_records(2))
    broker.create(topic)
    broker.produce(topic, ["no JSON {", "1"])
    with recording.running():
        eventually(lambda: "live" in recording.dataset.branches(), about=recording.said)
    found = recording.dataset.open("live")
    assert [path.read_text() for path in sorted((found / "0").iterdir())] == ["no JSON {", "1"]
