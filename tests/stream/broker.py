"""A real Kafka broker for tests: one process that is broker and controller at once (KRaft), on this machine only."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from components.streams.brokers.embedded import deployment
from embedded.step import Step
from embedded.toolchain import kafka
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS, eventually

# One small process that starts fast; its compiler's second tier pays only for servers that stay.
JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Broker:
    """One broker with its data in `folder`. It can be killed and started again."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self._jars, self._folder = jars, folder
        port, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{port}"
        self._settings = folder / "server.properties"
        # Those of the embedded cluster's broker: what holds here holds there.
        told = deployment.properties(
            host="127.0.0.1", port=port, controller=controller, address=self.bootstrap, data=str(folder)
        )
        self._settings.write_text(told)
        storage = ["kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config"]
        subprocess.run(
            self._java(*storage, str(self._settings)), check=True, capture_output=True, timeout=PATIENT_SECONDS
        )
        self.start()

    def start(self) -> None:
        """Starts it, and returns when it answers."""
        log = self._folder / "log.txt"
        with log.open("w") as output:
            command = self._java("kafka.Kafka", str(self._settings))
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

        def has_started() -> bool:
            assert self._process.poll() is None, log.read_text()[-2000:]
            return "Kafka Server started" in log.read_text()

        eventually(has_started, about=lambda: log.read_text()[-2000:])

    def kill(self) -> None:
        """Ends it as a power cut would; what it acknowledged is in its files."""
        self._process.kill()
        self._process.wait()

    def create(self, topic: str, partitions: int = 1) -> None:
        """A new topic, which the broker shows."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            made.result()
        self.until_shown(topic, partitions)

    def until_shown(self, topic: str, partitions: int) -> None:
        """Wait for what the controller has acknowledged: the broker, which clients ask, shows it a little later."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})

        def shown() -> bool:
            # A topic that is not there yet has none.
            return len(admin.list_topics(topic, timeout=PATIENT_SECONDS).topics[topic].partitions) == partitions

        eventually(shown)

    def produce(self, topic: str, values: Iterable[str], partitions: int = 1, *, first: int = 0) -> None:
        """Records in turn over the partitions, acknowledged when this returns. `first`: number of the first one."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 5})
        failed: list[object] = []

        def told(error: object, _: object) -> None:
            failed.extend([error] if error else [])

        for number, value in enumerate(values, first):
            producer.produce(topic, value.encode(), partition=number % partitions, on_delivery=told)
        assert producer.flush(PATIENT_SECONDS) == 0
        assert failed == []

    def _java(self, *words: str) -> list[str]:
        return [*JAVA, "-cp", f"{self._jars}/*", *words]


@contextmanager
def running(folder: Path) -> Iterator[Broker]:
    """A broker with its data in this folder, until the end of the block."""
    folder.mkdir(exist_ok=True)
    started = Broker(kafka.obtain(Step("kafka")), folder)
    try:
        yield started
    finally:
        started.kill()
