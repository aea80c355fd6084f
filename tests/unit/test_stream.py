"""Streams: the objects of Strimzi that they come to, and settings that are refused before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from components import faults
from components.namespace import Namespace
from components.stream import Stream, StreamArgs
from tests.unit import strimzi_schema
from tests.unit.rendering import Registered, Render

_SOME: dict[str, Any] = {
    "broker": {"kind": "strimzi", "cluster": "kafka"},
    "topics": {
        "clicks": {"partitions": 6, "retentionHours": 24, "retentionGib": 0.5},
        "labels": {"retentionHours": None},
    },
    "groups": {"trainer": {}, "ranker": {"topics": ["clicks"]}},
    "producers": {"website": {"topics": ["clicks"]}},
}
_BROKERS = {"broker": {"kind": "strimzi", "cluster": "kafka", "brokers": {"sizeGib": 100, "storageClass": "fast"}}}
_ELSEWHERE = {
    "bootstrap": "a.example:9096,b.example:9096",
    "authentication": "scram-sha-512",
    "secret": "there",
    "username": "u",
}
_MIRROR = {"mirror": {"to": _ELSEWHERE, "groupsEverySeconds": 15}}


def _stream(render: Render, **changes: Any) -> tuple[Stream, list[Registered]]:
    built: list[Stream] = []

    def build() -> None:
        args = StreamArgs.model_validate({**_SOME, **changes})
        assert list(args.check(("streams", "events"))) == []
        built.append(Stream("events", args, namespace=Namespace("ns", protect=True)))

    found = [one for one in render(build).resources if "strimzi" in one.type]
    return built[0], found


def _named(found: list[Registered], kind: str) -> dict[str, Mapping[str, Any]]:
    return {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in found if one.inputs["kind"] == kind}


@pytest.mark.parametrize("changes", [{}, _BROKERS, _MIRROR, {**_BROKERS, **_MIRROR}])
def test_every_object_is_one_that_strimzi_takes(render: Render, changes: dict[str, Any]) -> None:
    _, found = _stream(render, **changes)
    assert len(found) >= 5
    assert [line for one in found for line in strimzi_schema.wrong(one.inputs)] == []
    assert {one.inputs["metadata"]["namespace"] for one in found} == {"ns"}


def test_the_schema_names_what_strimzi_would_refuse() -> None:
    topic = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaTopic"}
    assert strimzi_schema.wrong({**topic, "spec": {"partitions": 0, "retention": 1}}) == [
        "KafkaTopic.partitions: 0 is no whole number from 1 to 2147483648",
        "KafkaTopic.retention: unknown field",
    ]
    user = {**topic, "kind": "KafkaUser", "spec": {"authorization": {"type": "simple"}}}
    assert strimzi_schema.wrong(user) == ["KafkaUser.authorization.acls: missing"]


def test_topics_keep_what_they_are_told_to(render: Render) -> None:
    topics = _named(_stream(render)[1], "KafkaTopic")
    assert topics["clicks"]["partitions"] == 6
    kept = {name: (spec["config"]["retention.ms"], spec["config"]["retention.bytes"]) for name, spec in topics.items()}
    assert kept == {"clicks": (24 * 3600 * 1000, 1 << 29), "labels": (-1, -1)}
    assert {spec["config"]["min.insync.replicas"] for spec in topics.values()} == {2}


def test_each_client_may_do_what_it_needs_and_no_more(render: Render) -> None:
    stream, found = _stream(render)
    rights = {
        name: {
            (acl["resource"]["type"], acl["resource"]["name"], *acl["operations"])
            for acl in spec["authorization"]["acls"]
        }
        for name, spec in _named(found, "KafkaUser").items()
    }
    assert rights == {
        "events-trainer": {
            ("topic", "clicks", "Describe", "Read"),
            ("topic", "labels", "Describe", "Read"),
            ("group", "trainer", "Read"),
        },
        "events-ranker": {("topic", "clicks", "Describe", "Read"), ("group", "ranker", "Read")},
        "events-website": {("topic", "clicks", "Describe", "Write")},
    }
    assert stream.access["ranker"].bootstrap == "kafka-kafka-bootstrap:9093"
    assert (stream.access["ranker"].secret, stream.access["ranker"].authority) == (
        "events-ranker",
        "kafka-cluster-ca-cert",
    )


def test_records_are_kept_unless_told_otherwise(render: Render) -> None:
    def protected(found: list[Registered]) -> set[str]:
        return {one.inputs["kind"] for one in found if one.options.get("protect")}

    assert protected(_stream(render, **_BROKERS)[1]) == {"Kafka", "KafkaNodePool", "KafkaTopic"}
    assert protected(_stream(render, **_BROKERS, retain=False)[1]) == set()
    pool = _named(_stream(render, **_BROKERS, retain=False)[1], "KafkaNodePool")["kafka-brokers"]
    assert [disk["deleteClaim"] for disk in pool["storage"]["volumes"]] == [False]


def test_a_mirror_copies_the_topics_and_the_groups_under_their_own_names(render: Render) -> None:
    spec = _named(_stream(render, **_MIRROR)[1], "KafkaMirrorMaker2")["events-mirror"]
    mirror = spec["mirrors"][0]
    assert (mirror["topicsPattern"], mirror["groupsPattern"]) == ("clicks|labels", "trainer|ranker")
    assert mirror["source"]["authentication"]["certificateAndKey"]["secretName"] == "events-mirror"
    assert spec["target"]["authentication"]["passwordSecret"]["secretName"] == "there"
    assert spec["target"]["tls"] == {"trustedCertificates": []}
    assert mirror["checkpointConnector"]["config"]["sync.group.offsets.interval.seconds"] == 15
    policies = {
        mirror[part]["config"]["replication.policy.class"] for part in ("sourceConnector", "checkpointConnector")
    }
    assert policies == {"org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


def test_a_managed_kafka_gets_no_objects(render: Render) -> None:
    stream, found = _stream(render, broker={"kind": "managed", "endpoint": _ELSEWHERE})
    assert found == []
    assert stream.access["trainer"].secret == "there"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {
                "broker": {"kind": "strimzi", "cluster": "kafka", "brokers": {"sizeGib": 1, "count": 1}},
                "topics": {"a": {}},
                "groups": {},
                "producers": {},
            },
            "streams.x.topics.a.replicas: got 3, need at most 1: each copy is on a broker of its own",
        ),
        (
            {"groups": {"g": {"topics": ["click"]}}},
            "streams.x.groups.g.topics: no topic named 'click', have clicks, labels (did you mean clicks?)",
        ),
        (
            {"producers": {"trainer": {}}},
            "streams.x.producers.trainer: a group has this name too: who reads and who writes are two users",
        ),
        (
            {"mirror": {"to": {"bootstrap": "kafka-kafka-bootstrap:9093"}}},
            "streams.x.mirror.to.bootstrap: got 'kafka-kafka-bootstrap:9093', the stream's own Kafka: need another one",
        ),
        (
            {"mirror": {"to": {"bootstrap": "b:1"}}, "groups": {"mirror": {}}},
            "streams.x.groups.mirror: the name of the mirror's own user, need another",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1"}}, **_MIRROR},
            "streams.x.mirror: got one on broker kind managed, need kind strimzi: who runs that Kafka mirrors it",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "authentication": "tls"}}},
            "streams.x.broker.endpoint.secret: missing, authentication tls needs it",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "username": "u"}}},
            "streams.x.broker.endpoint.username: got 'u', authentication none takes none",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "tls": False, "authority": "ca"}}},
            "streams.x.broker.endpoint.authority: got 'ca', and nothing is signed where tls is false",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(changes: dict[str, Any], says: str) -> None:
    args = StreamArgs.model_validate({**_SOME, **changes})
    assert [str(fault) for fault in args.check(("streams", "x"))] == [f"tensorplane:{says}"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"topics": {}}, "topics: got a map, need at least 1 of them"),
        ({"topics": {"Clicks_": {}}}, "need lower-case letters and digits, dashes and dots between them"),
        ({"topics": {"a": {"partitions": 0}}}, "topics.a.partitions: got 0, need at least 1"),
        ({"topics": {"a": {"retentionHours": 0}}}, "topics.a.retentionHours: got 0, need more than 0"),
        ({"topics": {"a": {"retention": 1}}}, "did you mean retentionGib?"),
        ({"broker": {"kind": "kafka"}}, "broker.kind: got 'kafka', need managed or strimzi"),
        ({"broker": {"kind": "managed", "endpoint": {"bootstrap": "host"}}}, "need host:port, or several"),
        ({"broker": {"kind": "managed", "endpoint": {"bootstrap": "host:99999"}}}, "need host:port, or several"),
    ],
)
def test_a_wrong_value_is_one_line(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        StreamArgs.model_validate({**_SOME, **changes})
    lines = [str(fault) for fault in faults.of_validation(refused.value, StreamArgs, frozenset())]
    assert len(lines) == 1
    assert says in lines[0]
