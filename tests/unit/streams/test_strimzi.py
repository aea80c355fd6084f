"""Streams: the objects of Strimzi that they come to, and settings that are refused before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support import strimzi_schema
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Registered

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


def _tree(stream: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "cluster": {"kind": "existing", "context": "team"},
        "namespace": "ns",
        "streams": {"events": {**_SOME, **stream}},
    }


def _built(tree: dict[str, Any]) -> list[Registered]:
    return rendered_tree(tree).resources


def _objects(stream: Mapping[str, Any]) -> list[Registered]:
    return [one for one in _built(_tree(stream)) if "strimzi" in one.type]


def _by_name(found: list[Registered], kind: str) -> dict[str, Mapping[str, Any]]:
    return {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in found if one.inputs["kind"] == kind}


@pytest.mark.parametrize("changes", [{}, _BROKERS, _MIRROR, {**_BROKERS, **_MIRROR}])
def test_every_object_is_one_that_strimzi_takes(changes: dict[str, Any]) -> None:
    found = _objects(changes)
    assert len(found) >= 5
    assert [line for one in found for line in strimzi_schema.find_problems(one.inputs)] == []
    assert {one.inputs["metadata"]["namespace"] for one in found} == {"ns"}


def test_the_schema_names_what_strimzi_would_refuse() -> None:
    topic = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaTopic"}
    assert strimzi_schema.find_problems({**topic, "spec": {"partitions": 0, "retention": 1}}) == [
        "KafkaTopic.partitions: 0 is no whole number from 1 to 2147483648",
        "KafkaTopic.retention: unknown field",
    ]
    user = {**topic, "kind": "KafkaUser", "spec": {"authorization": {"type": "simple"}}}
    assert strimzi_schema.find_problems(user) == ["KafkaUser.authorization.acls: missing"]


def test_topics_keep_what_they_are_told_to() -> None:
    topics = _by_name(_objects({}), "KafkaTopic")
    assert topics["clicks"]["partitions"] == 6
    kept = {name: (spec["config"]["retention.ms"], spec["config"]["retention.bytes"]) for name, spec in topics.items()}
    assert kept == {"clicks": (24 * 3600 * 1000, 1 << 29), "labels": (-1, -1)}
    assert {spec["config"]["min.insync.replicas"] for spec in topics.values()} == {2}


def test_each_client_may_do_what_it_needs_and_no_more() -> None:
    found = _objects({})
    rights = {
        name: {
            (acl["resource"]["type"], acl["resource"]["name"], *acl["operations"])
            for acl in spec["authorization"]["acls"]
        }
        for name, spec in _by_name(found, "KafkaUser").items()
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


def test_records_are_kept_unless_told_otherwise() -> None:
    def protected(found: list[Registered]) -> set[str]:
        return {one.inputs["kind"] for one in found if one.options.get("protect")}

    assert protected(_objects(_BROKERS)) == {"Kafka", "KafkaNodePool", "KafkaTopic"}
    assert protected(_objects({**_BROKERS, "retain": False})) == set()
    pool = _by_name(_objects({**_BROKERS, "retain": False}), "KafkaNodePool")["kafka-brokers"]
    assert [disk["deleteClaim"] for disk in pool["storage"]["volumes"]] == [False]


def test_a_mirror_copies_the_topics_and_the_groups_under_their_own_names() -> None:
    spec = _by_name(_objects(_MIRROR), "KafkaMirrorMaker2")["events-mirror"]
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


def test_a_managed_kafka_gets_no_objects() -> None:
    assert _objects(_MANAGED) == []


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
            "streams.events.topics.a.replicas: is 3, but each replica is on a broker of its own; set 1 or less",
        ),
        (
            {"broker": {"kind": "strimzi", "cluster": "kafka", "brokers": {"sizeGib": 10, "count": 4}}},
            "streams.events.broker.brokers.count: invalid value 4; use an odd number (4 tolerate no more "
            "failures than 3) (did you mean 3?)",
        ),
        (
            {"broker": {"kind": "strimzi", "cluster": "kafka", "brokers": {"sizeGib": 0.5}}},
            "streams.events.broker.brokers.sizeGib: invalid value 0.5; use 1 or more",
        ),
        (
            {"groups": {"g": {"topics": ["click"]}}},
            "streams.events.groups.g.topics: no topic is named 'click'; choose one of clicks, labels (did you "
            "mean clicks?)",
        ),
        (
            {"producers": {"trainer": {}}},
            "streams.events.producers.trainer: is also the name of a consumer group, but readers and writers are "
            "different users; use another name",
        ),
        (
            {"mirror": {"to": {"bootstrap": "kafka-kafka-bootstrap:9093"}}},
            "streams.events.mirror.to.bootstrap: 'kafka-kafka-bootstrap:9093' is the stream's own Kafka; use "
            "another Kafka",
        ),
        (
            {"mirror": {"to": {"bootstrap": "b:1"}}, "groups": {"mirror": {}}},
            "streams.events.groups.mirror: is the name of the mirror's own user; use another name",
        ),
        (
            {"broker": {**_BROKERS["broker"], "cluster": "k" * 26}},
            "streams.events.broker.cluster: the name has 26 characters; shorten it to 25, the limit for a new "
            "Kafka cluster",
        ),
        (
            {"groups": {"g" * 58: {}}},
            f"streams.events.groups.{'g' * 58}: its KafkaUser events-{'g' * 58} has 65 characters; shorten the "
            f"name, so that it has at most 64",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1"}}, **_MIRROR},
            "streams.events.mirror: broker kind managed cannot mirror, because tensorplane does not operate that "
            "Kafka; use kind strimzi",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "authentication": "tls"}}},
            "streams.events.broker.endpoint.secret: missing; authentication tls requires a Secret, name one",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "username": "u"}}},
            "streams.events.broker.endpoint.username: is 'u', but authentication none has no username; remove it",
        ),
        (
            {"broker": {"kind": "managed", "endpoint": {"bootstrap": "b:1", "tls": False, "authority": "ca"}}},
            "streams.events.broker.endpoint.authority: is 'ca', but tls is false; remove it, or set tls: true",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(changes: dict[str, Any], says: str) -> None:
    assert problems_of(_tree(changes)) == [f"tensorplane:{says}"]


def test_a_kafka_and_a_topic_are_one_stream_s() -> None:
    tree = _tree(_BROKERS)
    tree["streams"]["more"] = {**_BROKERS, "topics": {"clicks": {}, "other": {}}}
    assert problems_of(tree) == [
        "tensorplane:streams.more.broker.brokers: stream events already creates Kafka kafka; remove `brokers` here",
        "tensorplane:streams.more.topics.clicks: stream events already has this topic of Kafka kafka; use another name",
    ]


def test_a_stream_elsewhere_must_name_its_kafka() -> None:
    tree = _tree({})
    del tree["streams"]["events"]["broker"]
    assert problems_of(tree) == [
        "tensorplane:streams.events.broker: missing, but cluster kind existing has no default broker; "
        "set kind managed or strimzi"
    ]
    tree["streams"]["events"]["broker"] = {"kind": "embedded"}
    assert problems_of(tree) == [
        "tensorplane:streams.events.broker: embedded requires cluster kind embedded, but the cluster is "
        "existing; use another broker"
    ]


def _policies(found: list[Registered]) -> dict[str, Mapping[str, Any]]:
    policies = [one for one in found if one.type.endswith(":NetworkPolicy") and "-stream-" in one.name]
    return {one.name: one.inputs["spec"] for one in policies}


def test_clients_are_let_out_to_the_brokers_alone_and_what_strimzi_runs_to_what_it_needs() -> None:
    found = _policies(_built(_tree({**_BROKERS, **_MIRROR})))
    brokers = {"podSelector": {"matchLabels": {"strimzi.io/cluster": "kafka"}}}
    clients = found["events-stream-clients"]
    assert clients["podSelector"]["matchLabels"] == {"streams.tensorplane/events": "client"}
    assert clients["egress"] == [{"to": [brokers], "ports": [{"protocol": "TCP", "port": 9093}]}]
    ports = {name: [port["port"] for port in spec["egress"][-1]["ports"]] for name, spec in found.items()}
    assert found["events-stream-kafka"]["egress"][0] == found["events-stream-mirror"]["egress"][0] == {"to": [brokers]}
    assert (ports["events-stream-kafka"], ports["events-stream-mirror"]) == ([443, 6443], [443, 6443, 9096])
    (managed,) = _policies(_built(_tree(_MANAGED))).values()
    assert managed["egress"] == [{"ports": [{"protocol": "TCP", "port": 9096}]}]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"topics": {}}, "topics: empty map; use a map of at least 1"),
        ({"topics": {"Clicks_": {}, "a": {}}}, "use lower-case letters and digits, dashes and dots between them"),
        ({"topics": {"a": {"partitions": 0}}}, "topics.a.partitions: invalid value 0; use 1 or more"),
        ({"topics": {"a": {"retentionHours": 0}}}, "topics.a.retentionHours: invalid value 0; use more than 0"),
        ({"topics": {"a": {"retention": 1}}}, "did you mean retentionGib, retentionHours?"),
        ({"broker": {"kind": "kafka"}}, "broker.kind: invalid value 'kafka'; use embedded, managed or strimzi"),
        ({"broker": {"kind": "managed", "endpoint": {"bootstrap": "host"}}}, "use host:port, or several"),
        ({"broker": {"kind": "managed", "endpoint": {"bootstrap": "host:99999"}}}, "use host:port, or several"),
    ],
)
def test_a_wrong_value_is_one_line(changes: dict[str, Any], says: str) -> None:
    lines = problems_of(_tree({"groups": {}, "producers": {}, **changes}))
    assert len(lines) == 1
    assert says in lines[0]
