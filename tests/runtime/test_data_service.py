"""tf.data service as the library's programs run it: real processes, with the variables of their pods."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import LIBRARY, Process, of_library
from tests.support.ports import free_ports
from tests.support.waiting import eventually

_READER = """
import os, sys, time, tensorflow as tf
address = os.environ["TENSORPLANE_DATA_SERVICE"]
data = tf.data.Dataset.range(int(sys.argv[1])).map(lambda x: x * 2)
data = data.apply(tf.data.experimental.service.distribute("distributed_epoch", address, job_name="epoch"))
for element in data.as_numpy_iterator():
    print("read", int(element), flush=True)
    while sys.argv[2:] and not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
"""


class Service:
    """The processes of one service, with the environment that its clients have."""

    def __init__(self, folder: Path) -> None:
        self.dispatcher, *self.workers = (f"localhost:{port}" for port in free_ports(3))
        self.folder, self.run = folder, folder / "checkpoints" / "train-0901f9d5"
        self.processes: list[Process] = []
        (folder / "reader.py").write_text(_READER)

    @property
    def journals(self) -> list[str]:
        return sorted(path.name for path in self.run.with_name(f".data-service-{self.run.name}").glob("*"))

    def start(self, program: str, address: str, job: str = "job-1") -> Process:
        """Starts a program of the library as its pod would."""
        own = {"TENSORPLANE_ADDRESS": address, "TENSORPLANE_RUN": str(self.run), "TENSORPLANE_JOB": job}
        return self._process([str(LIBRARY / "tensorplane" / f"{program}.py")], **own)

    def read(self, *arguments: str) -> Process:
        return self._process([str(self.folder / "reader.py"), *arguments])

    def _process(self, argv: list[str], **more: str) -> Process:
        own = of_library(TF_NUM_INTRAOP_THREADS="1", TENSORPLANE_DATA_SERVICE=f"grpc://{self.dispatcher}", **more)
        self.processes.append(Process(argv, self.folder, own, self.folder / f"{len(self.processes)}.log"))
        return self.processes[-1]


def _elements(reader: Process) -> list[int]:
    return [int(line.split()[1]) for line in reader.output.splitlines() if line.startswith("read ")]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    yield made
    for process in made.processes:
        process.end()


def test_every_element_is_read_once_though_a_worker_comes_before_the_dispatcher(service: Service) -> None:
    first = service.start("data/worker", service.workers[0])
    dispatcher = service.start("data/dispatcher", service.dispatcher)
    second = service.start("data/worker", service.workers[1])
    for process in (first, second):
        process.until("serving=data-worker")
    reader = service.read("100")
    assert reader.wait() == 0, reader.output
    assert sorted(_elements(reader)) == [2 * each for each in range(100)]
    for process in (first, second, dispatcher):
        process.send_signal(signal.SIGTERM)
        assert process.wait() == EXIT_SAVED, "with 0, the Job would not replace an evicted pod"
    assert service.journals == [], "a job that was stopped reads its data from the beginning"


@pytest.mark.nightly("a dispatcher is killed; not on the path of a training")
def test_a_lost_dispatcher_continues_from_its_journal_and_a_restarted_gang_begins_anew(service: Service) -> None:
    service.run.parent.mkdir()
    dispatcher = service.start("data/dispatcher", service.dispatcher)
    service.start("data/worker", service.workers[0])
    go = service.folder / "go"
    reader = service.read("6", str(go))
    reader.until("read 0")
    dispatcher.end()
    assert service.journals == ["job-1"]
    other = service.start("data/dispatcher", service.dispatcher)
    go.touch()
    assert reader.wait() == 0, reader.output
    assert _elements(reader) == [0, 2, 4, 6, 8, 10]
    other.end()
    service.start("data/dispatcher", service.dispatcher, job="job-2")
    eventually(lambda: service.journals == ["job-2"])
