"""Writes numbers into a stream of its job's settings, a few at a time, as a source does that never ends."""

from __future__ import annotations

import os
import time

from confluent_kafka import Producer

from tensorplane.declared_streams import DeclaredStream

AT_ONCE = 10


def main() -> None:
    numbers, partitions = int(os.environ["NUMBERS"]), int(os.environ["PARTITIONS"])
    stream = DeclaredStream.of("events")
    producer = Producer({**stream.client(), "enable.idempotence": True, "linger.ms": 5})
    for number in range(numbers):
        producer.produce(stream.topic(), str(number).encode(), partition=number % partitions)
        if number % AT_ONCE == AT_ONCE - 1:
            producer.flush(60)
            time.sleep(float(os.environ["PAUSE_SECONDS"]))
    print(f"unsent={producer.flush(60)}", flush=True)


if __name__ == "__main__":
    main()
