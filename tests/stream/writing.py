"""Writes numbers into a stream of its job's settings; the second half once the file GATE is there, if it is set."""

from __future__ import annotations

import os
import time
from pathlib import Path

from confluent_kafka import Producer

from tensorplane.declared_streams import DeclaredStream


def main() -> None:
    numbers, partitions = int(os.environ["NUMBERS"]), int(os.environ["PARTITIONS"])
    stream, gate = DeclaredStream.of("events"), os.environ.get("GATE")
    producer = Producer({**stream.client(), "enable.idempotence": True, "linger.ms": 5})
    for number in range(numbers):
        if gate and number == numbers // 2:
            producer.flush()
            while not Path(gate).exists():
                time.sleep(0.1)
        producer.produce(stream.topic(), str(number).encode(), partition=number % partitions)
    print(f"unsent={producer.flush()}", flush=True)


if __name__ == "__main__":
    main()
