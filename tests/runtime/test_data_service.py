"""tf.data service as the library's programs run it: real processes, with the variables of their pods."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.runtime.launching import LIBRARY
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS, eventually

READER = """
import os, sys, tensorflow as tf
address = os.environ["TENSORPLANE_DATA_SERVICE"]
data = tf.data.Dataset.range(int(sys.argv[1])).map(lambda x: x * 2)
data = data.apply(tf.data.experimental.service.distribute("distributed_epoch", address, job_name="epoch"))
for element in data.as_numpy_iterator():
    print(int(element), flush=True)
    if len(sys.argv) > 2:
        sys.stdin.readline()
"""
EXIT_SAVED = 75


class Service:
    """The processes of one service, with the environment that its clients have."""

    def __init__(self, folder: Path) -> None:
        self.dispatcher, *self.workers = (f"localhost:{port}" for port in free_ports(3))
        self.run = folder / "checkpoints" / "train-0901f9d5"
        self.processes: list[subprocess.Popen[str]] = []

    @property
    def journals(self) -> list[str]:
        return sorted(path.name for path in self.run.with_name(f".data-service-{self.run.name}").glob("*"))

    def start(self, program: str, address: str, job: str = "job-1") -> subprocess.Popen[str]:
        """Starts a program of the library as its pod would."""
        own = {"TENSORPLANE_ADDRESS": address, "TENSORPLANE_RUN": str(self.run), "TENSORPLANE_JOB": job}
        return self._python(["-I", str(LIBRARY / "tensorplane" / f"{program}.py")], own)

    def read(self, *arguments: str) -> subprocess.Popen[str]:
        return self._python(["-c", READER, *arguments], {})

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()

    def _python(self, arguments: list[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "TF_NUM_INTRAOP_THREADS": "1",
            "TENSORPLANE_DATA_SERVICE": f"grpc://{self.dispatcher}",
            **variables,
        }
        process = subprocess.Popen(
            [sys.executable, *arguments], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    yield made
    made.stop()


def test_every_element_is_read_once_though_a_worker_comes_before_the_dispatcher(service: Service) -> None:
    first = service.start("data/worker", service.workers[0])
    dispatcher = service.start("data/dispatcher", service.dispatcher)
    second = service.start("data/worker", service.workers[1])
    for process in (first, second):
        assert process.stdout is not None
        assert "serving=data-worker" in process.stdout.readline()
    read, _ = service.read("100").communicate(timeout=PATIENT_SECONDS)
    assert sorted(map(int, read.split())) == [2 * each for each in range(100)]
    for process in (first, second, dispatcher):
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENT_SECONDS) == EXIT_SAVED, "with 0, the Job would not replace an evicted pod"
    assert service.journals == [], "a job that was stopped reads its data from the beginning"


def test_a_lost_dispatcher_continues_from_its_journal_and_a_restarted_gang_begins_anew(service: Service) -> None:
    service.run.parent.mkdir()
    dispatcher = service.start("data/dispatcher", service.dispatcher)
    service.start("data/worker", service.workers[0])
    reader = service.read("6", "step by step")
    assert reader.stdin is not None
    assert reader.stdout is not None
    assert reader.stdout.readline() == "0\n"
    dispatcher.kill()
    dispatcher.wait()
    assert service.journals == ["job-1"]
    service.start("data/dispatcher", service.dispatcher)
    reader.stdin.write("\n" * 6)
    reader.stdin.flush()
    rest, _ = reader.communicate(timeout=PATIENT_SECONDS)
    assert [int(each) for each in rest.split()] == [2, 4, 6, 8, 10]
    service.processes[-1].kill()
    service.processes[-1].wait()
    service.start("data/dispatcher", service.dispatcher, job="job-2")
    eventually(lambda: service.journals == ["job-2"])
