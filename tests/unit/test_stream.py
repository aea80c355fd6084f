"""Streams: the objects of Strimzi that they come to, and settings that are refused before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import stack
from components.settings import Settings
from tests.unit import strimzi_schema
from tests.unit.rendering import Registered, Render
from tests.unit.test_bad_settings import faults_of

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
_MIRROR = {"mirror": {"to": _ELSEWHERE, "every": "15m"}}
_MANAGED = {"broker": {"kind": "managed", "endpoint": _ELSEWHERE}}


def _tree(stream: Mapping[str, Any], **volume: Any) -> dict[str, Any]:
    return {
        "cluster": {"kind": "existing", "context": "team"},
        "namespace": "ns",
        "volumes": {"events": {"sizeGib": 1, "stream": {**_SOME, **stream}, **volume}},
    }


def _built(render: Render, tree: dict[str, Any]) -> list[Registered]:
    return render(lambda: stack.build(stack.StackConfig.load(Settings(tree)))).resources


def _objects(render: Render, stream: Mapping[str, Any], **volume: Any) -> list[Registered]:
    return [one for one in _built(render, _tree(stream, **volume)) if "strimzi" in one.type]


def _named(found: list[Registered], kind: str) -> dict[str, Mapping[str, Any]]:
    return {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in found if one.inputs["kind"] == kind}


@pytest.mark.parametrize("changes", [{}, _BROKERS, _MIRROR, {**_BROKERS, **_MIRROR}])
def test_every_object_is_one_that_strimzi_takes(render: Render, changes: dict[str, Any]) -> None:
    found = _objects(render, changes)
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
    topics = _named(_objects(render, {}), "KafkaTopic")
    assert topics["clicks"]["partitions"] == 6
    kept = {name: (spec["config"]["retention.ms"], spec["config"]["retention.bytes"]) for name, spec in topics.items()}
    assert kept == {"clicks": (24 * 3600 * 1000, 1 << 29), "labels": (-1, -1)}
    assert {spec["config"]["min.insync.replicas"] for spec in topics.values()} == {2}


def test_each_client_may_do_what_it_needs_and_no_more(render: Render) -> None:
    found = _objects(render, {})
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


def test_records_are_kept_unless_told_otherwise(render: Render) -> None:
    def protected(found: list[Registered]) -> set[str]:
        return {one.inputs["kind"] for one in found if one.options.get("protect")}

    assert protected(_objects(render, _BROKERS)) == {"Kafka", "KafkaNodePool", "KafkaTopic"}
    assert protected(_objects(render, _BROKERS, retain=False)) == set()
    pool = _named(_objects(render, _BROKERS, retain=False), "KafkaNodePool")["kafka-brokers"]
    assert [disk["deleteClaim"] for disk in pool["storage"]["volumes"]] == [False]


def test_a_mirror_copies_the_topics_and_the_groups_under_their_own_names(render: Render) -> None:
    spec = _named(_objects(render, _MIRROR), "KafkaMirrorMaker2")["events-mirror"]
    mirror = spec["mirrors"][0]
    assert (mirror["topicsPattern"], mirror["groupsPattern"]) == ("clicks|labels", "trainer|ranker")
    assert mirror["source"]["authentication"]["certificateAndKey"]["secretName"] == "events-mirror"
    assert spec["target"]["authentication"]["passwordSecret"]["secretName"] == "there"
    assert spec["target"]["tls"] == {"trustedCertificates": []}
    assert mirror["checkpointConnector"]["config"]["sync.group.offsets.interval.seconds"] == 900
    policies = {
        mirror[part]["config"]["replication.policy.class"] for part in ("sourceConnector", "checkpointConnector")
    }
    assert policies == {"org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


def test_a_managed_kafka_gets_no_objects(render: Render) -> None:
    assert _objects(render, _MANAGED) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {
                "broker": {"kind": "strimzi", "cluster": "kafka", "brokers": {"sizeGib": 1, "count": 1}},
                "topics": {"a": {"replicas": 3}},
                "groups": {},
                "producers": {},
            },
            "volumes.events.stream.topics.a.replicas: got 3, need at most 1: each copy is on a broker of its own",
        ),
        (
            {"broker": {"kind": "strimzi", "cluster": "kafka", "brokers": {"sizeGib": 10, "count": 4}}},
            "volumes.events.stream.broker.brokers.count: got 4, need an odd number: 4 stand no more losses than 3 "
            "(did you mean 3?)",
        ),
        (
            {"broker": {"kind": "strimzi", "cluster": "kafka", "brokers": {"sizeGib": 0.5}}},
            "volumes.events.stream.broker.brokers.sizeGib: got 0.5, need at least 1",
        ),
        (
            {"groups": {"g": {"topics": ["click"]}}},
            "volumes.events.stream.groups.g.topics: no topic named 'click', have clicks, labels (did you mean clicks?)",
        ),
        (
            {"producers": {"trainer": {}}},
            "volumes.events.stream.producers.trainer: a group has this name too: "
            "who reads and who writes are two users",
        ),
        (
            {"mirror": {"to": {"bootstrap": "kafka-kafka-bootstrap:9093"}}},
            "volumes.events.stream.mirror.to.bootstrap: got 'kafka-kafka-bootstrap:9093', the stream's own Kafka: "
            "need another one",
        ),
        (
            {"mirror": {"to": {"bootstrap": "b:1"}}, "groups": {"mirror": {}}},
            "volumes.events.stream.groups.mirror: the name of the mirror's own user, need another",
        ),
        (
            {"broker": {**_BROKERS["broker"], "cluster": "k" * 26}},
            "volumes.events.stream.broker.cluster: the name has 26 characters, at most 25 where its brokers are made",
        ),
        (
            {"groups": {"g" * 58: {}}},
            f"volumes.events.stream.groups.{'g' * 58}: its user is events-{'g' * 58}, which has 65 characters, "
            "at most 64",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1"}}, **_MIRROR},
            "volumes.events.stream.mirror: got one on broker kind managed, need kind strimzi: "
            "who runs that Kafka mirrors it",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "authentication": "tls"}}},
            "volumes.events.stream.broker.endpoint.secret: missing, authentication tls needs it",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "username": "u"}}},
            "volumes.events.stream.broker.endpoint.username: got 'u', authentication none takes none",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "tls": False, "authority": "ca"}}},
            "volumes.events.stream.broker.endpoint.authority: got 'ca', and nothing is signed where tls is false",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(changes: dict[str, Any], says: str) -> None:
    assert faults_of(_tree(changes)) == [f"tensorplane:{says}"]


def test_a_kafka_and_a_topic_are_one_stream_s() -> None:
    tree = _tree(_BROKERS)
    tree["volumes"]["more"] = {"sizeGib": 1, "stream": {**_BROKERS, "topics": {"clicks": {}, "other": {}}}}
    assert faults_of(tree) == [
        "tensorplane:volumes.more.stream.broker.brokers: the stream of volume events makes Kafka kafka too: "
        "leave `brokers` out here",
        "tensorplane:volumes.more.stream.topics.clicks: the stream of volume events has this topic of Kafka kafka too, "
        "need another name",
    ]


def test_a_stream_elsewhere_must_name_its_kafka() -> None:
    tree = _tree({})
    del tree["volumes"]["events"]["stream"]["broker"]
    assert faults_of(tree) == [
        "tensorplane:volumes.events.stream.broker: missing, and cluster kind existing has none of its own: "
        "need managed or strimzi"
    ]
    tree["volumes"]["events"]["stream"]["broker"] = {"kind": "embedded"}
    assert faults_of(tree) == [
        "tensorplane:volumes.events.stream.broker: got embedded on cluster kind existing, "
        "it needs cluster kind embedded"
    ]


def _policies(found: list[Registered]) -> dict[str, Mapping[str, Any]]:
    policies = [one for one in found if one.type.endswith(":NetworkPolicy") and "-stream-" in one.name]
    return {one.name: one.inputs["spec"] for one in policies}


def test_clients_are_let_out_to_the_brokers_alone_and_what_strimzi_runs_to_what_it_needs(render: Render) -> None:
    found = _policies(_built(render, _tree({**_BROKERS, **_MIRROR})))
    brokers = {"podSelector": {"matchLabels": {"strimzi.io/cluster": "kafka"}}}
    clients = found["events-stream-clients"]
    assert clients["podSelector"]["matchLabels"] == {"streams.tensorplane/events": "client"}
    assert clients["egress"] == [{"to": [brokers], "ports": [{"protocol": "TCP", "port": 9093}]}]
    ports = {name: [port["port"] for port in spec["egress"][-1]["ports"]] for name, spec in found.items()}
    assert found["events-stream-kafka"]["egress"][0] == found["events-stream-mirror"]["egress"][0] == {"to": [brokers]}
    assert (ports["events-stream-kafka"], ports["events-stream-mirror"]) == ([443, 6443], [443, 6443, 9096])
    (managed,) = _policies(_built(render, _tree(_MANAGED))).values()
    assert managed["egress"] == [{"ports": [{"protocol": "TCP", "port": 9096}]}]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"topics": {}}, "topics: got a map, need at least 1 of them"),
        ({"topics": {"Clicks_": {}, "a": {}}}, "need lower-case letters and digits, dashes and dots between them"),
        ({"topics": {"a": {"partitions": 0}}}, "topics.a.partitions: got 0, need at least 1"),
        ({"topics": {"a": {"retentionHours": 0}}}, "topics.a.retentionHours: got 0, need more than 0"),
        ({"topics": {"a": {"retention": 1}}}, "did you mean retentionGib, retentionHours?"),
        ({"broker": {"kind": "kafka"}}, "broker.kind: got 'kafka', need embedded, managed or strimzi"),
        ({"broker": {"kind": "managed", "endpoint": {"bootstrap": "host"}}}, "need host:port, or several"),
        ({"broker": {"kind": "managed", "endpoint": {"bootstrap": "host:99999"}}}, "need host:port, or several"),
    ],
)
def test_a_wrong_value_is_one_line(changes: dict[str, Any], says: str) -> None:
    lines = faults_of(_tree({"groups": {}, "producers": {}, **changes}))
    assert len(lines) == 1
    assert says in lines[0]
