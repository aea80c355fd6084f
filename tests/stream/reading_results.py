"""Reads a scorer's results as a table, until each record that the test wrote has one."""

from __future__ import annotations

import json
import os

from confluent_kafka import Consumer

from tensorplane.declared_streams import DeclaredStream


def main() -> None:
    numbers = int(os.environ["NUMBERS"])
    stream = DeclaredStream.of("events")
    consumer = Consumer({**stream.client(), "group.id": stream.group or "", "auto.offset.reset": "earliest"})
    consumer.subscribe([stream.topic()])
    newest: dict[bytes, object] = {}
    while len(newest) < numbers:
        for message in consumer.consume(100, 1.0):
            if not message.error():
                newest[message.key() or b""] = json.loads(message.value() or b"{}").get("prediction")
    right = sorted(newest.values(), key=str) == sorted((number / 2 for number in range(numbers)), key=str)
    print(f"results={len(newest)} right={right}", flush=True)
    consumer.close()


if __name__ == "__main__":
    main()
