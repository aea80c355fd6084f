"""The volume of a stream: which one it needs, which it cannot have, and where `volumes.X.stream` is now."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree

_EXISTING = {"kind": "existing", "context": "team"}
_MANAGED = {"kind": "managed", "endpoint": {"bootstrap": "kafka.example:9096"}}
_TOPICS: dict[str, Any] = {"topics": {"clicks": {}}, "groups": {"trainer": {}}}
_JOB = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["python3"]}


def _local(disk: dict[str, Any] | None = None, **stream: Any) -> dict[str, Any]:
    volumes = {"records": {"sizeGib": 1, **(disk or {})}}
    return {"volumes": volumes, "streams": {"events": {"volume": "records", **_TOPICS, **stream}}}


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        (
            {"streams": {"events": _TOPICS}},
            "streams.events.volume: missing, but broker kind embedded keeps the records on a volume; name one "
            "that nothing else mounts",
        ),
        (
            _local(volume="record"),
            "streams.events.volume: no volume is named 'record'; choose one of records (did you mean records?)",
        ),
        (
            {"cluster": _EXISTING, **_local(broker=_MANAGED)},
            "streams.events.volume: is set, but broker kind managed keeps the records on disks of its own; remove it",
        ),
        (
            _local({"accessModes": ["ReadOnlyMany"], "from": {"snapshot": "s"}}),
            "streams.events.volume: volume records is ReadOnlyMany, but the broker writes to it; choose another volume",
        ),
        (
            _local(retain=False),
            "streams.events.retain: is set, but the records are on a volume, whose own retain applies; remove it",
        ),
    ],
)
def test_a_volume_that_does_not_fit_is_one_line(tree: dict[str, Any], says: str) -> None:
    assert problems_of(tree) == [f"tensorplane:{says}"]


def test_two_streams_on_one_volume_are_one_line() -> None:
    tree = _local()
    tree["streams"]["more"] = {"volume": "records", "topics": {"labels": {}}}
    assert problems_of(tree) == [
        "tensorplane:streams.more.volume: volume records holds the records of stream events; name another volume"
    ]


@pytest.mark.parametrize(("size", "fits"), [(12, False), (13, True)])
def test_the_volume_holds_what_the_stream_keeps(size: int, fits: bool) -> None:
    topics = {"clicks": {"partitions": 4, "retentionGib": 2.5}, "labels": {"partitions": 1, "retentionGib": 2}, "a": {}}
    reason = "12 is not enough for the 12 GiB that stream events keeps; set more than 12"
    found = [] if fits else [f"tensorplane:volumes.records.sizeGib: {reason}"]
    assert problems_of(_local({"sizeGib": size}, topics=topics, groups={})) == found


def test_a_stream_called_like_its_volume_has_the_names_that_a_volume_s_stream_had() -> None:
    tree = {"volumes": {"events": {"sizeGib": 1}}, "streams": {"events": {"volume": "events", **_TOPICS}}}
    made = rendered_tree({"namespace": "ns", **tree})
    named = {(one.type.rpartition(":")[2], one.name) for one in made.resources if "events" in one.name}
    assert named == {
        ("Volume", "events"),
        ("PersistentVolumeClaim", "events"),
        ("Stream", "events"),
        ("ConfigMap", "events-kafka"),
        ("Service", "events-kafka"),
        ("StatefulSet", "events-kafka"),
        ("ConfigMap", "events-topics"),
        ("Job", "events-topics"),
        ("NetworkPolicy", "events-stream-brokers"),
        ("NetworkPolicy", "events-stream-clients"),
    }


@pytest.mark.parametrize(("retain", "kept"), [(True, True), (False, False)])
def test_a_namespace_with_retained_topics_is_protected(retain: bool, kept: bool) -> None:
    stream = {"broker": {"kind": "strimzi", "cluster": "kafka"}, "retain": retain, **_TOPICS}
    made = rendered_tree({"cluster": _EXISTING, "namespace": "ns", "streams": {"events": stream}})
    assert bool(made.one("core/v1:Namespace", "ns").options.get("protect")) is kept


_MOVED = "volumes.events.stream: streams have a key of their own; move it to streams.events"


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ({"volumes": {"events": {"sizeGib": 1, "stream": _TOPICS}}}, [f"{_MOVED}, with volume: events"]),
        (
            {"cluster": _EXISTING, "volumes": {"events": {"sizeGib": 1, "stream": {"broker": _MANAGED, **_TOPICS}}}},
            [_MOVED],
        ),
        (
            {"volumes": {"events": {"sizeGib": 1, "stream": _TOPICS, "size": 1, "colour": "red"}}},
            [
                "volumes.events: unknown settings size and colour; allowed here: accessModes, backend, cache, "
                "encrypted, from, mirror, path, placement, quota, readers, retain, sizeGib, snapshots, writers",
                f"{_MOVED}, with volume: events",
            ],
        ),
        (
            {
                "volumes": {"events": {"stream": {"topics": {}}}},
                "workloads": {"job": {**_JOB, "streams": {"events": {"group": "trainer"}}, "queue": "fast"}},
            },
            [
                "volumes.events.sizeGib: required setting is missing: Size in GiB",
                f"{_MOVED}, with volume: events",
                "workloads.job.queue: no queue is named 'fast'; declare one under queues",
            ],
        ),
    ],
)
def test_the_stream_of_a_volume_is_told_its_new_key(tree: dict[str, Any], says: list[str]) -> None:
    assert set(problems_of(tree)) == {f"tensorplane:{line}" for line in says}
