"""Creates and changes a broker's topics: `python3 -m agents.topics BOOTSTRAP TOPICS`, where TOPICS is JSON.

It never deletes topics or partitions, which would lose records.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public names, which its types do not export
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic

_START_SECONDS = 120
_ANSWER_SECONDS = 30.0
_LOOK_SECONDS = 0.1


def declare(bootstrap: str, wanted: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Creates and changes what differs; returns a line for each change, once the broker shows it to clients.

    ValueError names what Kafka cannot do, TimeoutError what the broker does not answer or show within 30 seconds.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap})
    existing = _partitions(admin)
    shrinking = [
        f"topic {name}: has {existing[name]} partitions, but the settings declare {spec['partitions']}; "
        f"Kafka cannot remove partitions: set {existing[name]} or more"
        for name, spec in wanted.items()
        if existing.get(name, 0) > spec["partitions"]
    ]
    if shrinking:
        raise ValueError("\n".join(shrinking))
    done = []
    for name, spec in wanted.items():
        if name not in existing:
            new = NewTopic(name, spec["partitions"], spec["replicas"], config=dict(spec["config"]))
            _finish(admin.create_topics([new]))
            done.append(f"topic {name}: created, {spec['partitions']} partitions")
            continue
        if existing[name] < spec["partitions"]:
            _finish(admin.create_partitions([NewPartitions(name, spec["partitions"])]))
            done.append(f"topic {name}: {spec['partitions']} partitions, {existing[name]} before")
        changed = _configure(admin, name, spec["config"])
        done += [f"topic {name}: {key}={value}" for key, value in changed.items()]
    if done:
        _wait_until_shown(admin, wanted)
    return done


def _wait_until_shown(admin: AdminClient, wanted: Mapping[str, Mapping[str, Any]]) -> None:
    """The controller acknowledges a change before the broker, which clients ask, has applied it."""
    deadline = time.monotonic() + _ANSWER_SECONDS
    while outdated := _outdated(admin, wanted):
        if time.monotonic() > deadline:
            problem = f"the broker does not show the change after {_ANSWER_SECONDS:g} s; deploy the stack again"
            raise TimeoutError("\n".join(f"topic {name}: {problem}" for name in outdated))
        time.sleep(_LOOK_SECONDS)


def _outdated(admin: AdminClient, wanted: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Topics that the broker does not show as they are declared."""
    existing = _partitions(admin)
    return [
        name
        for name, spec in wanted.items()
        if existing.get(name) != spec["partitions"] or _differing(admin, name, spec["config"])
    ]


def _differing(admin: AdminClient, topic: str, wanted: Mapping[str, str]) -> dict[str, str]:
    (existing,) = _finish(admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
    return {key: value for key, value in wanted.items() if existing[key].value != value}


def _configure(admin: AdminClient, topic: str, wanted: Mapping[str, str]) -> dict[str, str]:
    changed = _differing(admin, topic, wanted)
    if changed:
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in changed.items()
        ]
        _finish(
            admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)])
        )
    return changed


def _finish(futures: Mapping[Any, Any]) -> list[Any]:
    try:
        return [future.result(_ANSWER_SECONDS) for future in futures.values()]
    except TimeoutError:
        # Python's own has no message.
        raise TimeoutError(f"broker: no answer within {_ANSWER_SECONDS:g} s; deploy the stack again") from None


def _partitions(admin: AdminClient) -> dict[str, int]:
    """How many each of the broker's topics has, as soon as the broker answers."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            return {name: len(topic.partitions) for name, topic in admin.list_topics(timeout=5).topics.items()}
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise
            print(f"waiting for the broker: {error.args[0].str()}", flush=True)


def main() -> int:
    """Returns the exit code: 1, after a line per problem, if Kafka cannot, or does not, do what the settings say."""
    try:
        print(*declare(sys.argv[1], json.loads(sys.argv[2])) or ["nothing to do"], sep="\n", flush=True)
    except (ValueError, TimeoutError) as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
