"""What Strimzi takes as its objects, as far as streams come to it: names and types of fields, nothing else.

The facts are those of strimzi/strimzi-kafka-operator at tag 1.2.0 (commit 6c7b43c4af0db547c10463ba09d1dfa6f5e156a0):
`install/cluster-operator/04*-Crd-*.yaml`, API version v1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _Fields:
    """An object: its fields, and which of them must be there."""

    known: Mapping[str, Any]
    required: frozenset[str] = frozenset()


def _object(*required: str, **known: Any) -> _Fields:
    return _Fields(known, frozenset(required))


@dataclass(frozen=True)
class _Whole:
    """A whole number within limits."""

    least: int
    most: int = 1 << 31


_ANY = _object()
_SECURITY = _object(
    runAsNonRoot=bool, seccompProfile=_object(type=str), allowPrivilegeEscalation=bool, capabilities=_object(drop=[str])
)
_SECURED = _object(securityContext=_SECURITY)
_DISK = _object(
    "type",
    **{"class": str},
    id=_Whole(0),
    type={"ephemeral", "persistent-claim"},
    size=str,
    deleteClaim=bool,
    kraftMetadata={"shared"},
)
_ACL = _object(
    "resource",
    "operations",
    type={"allow", "deny"},
    resource=_object(
        "type", type={"topic", "group", "cluster", "transactionalId"}, name=str, patternType={"literal", "prefix"}
    ),
    operations=[
        {
            "Read", "Write", "Create", "Delete", "Alter", "Describe", "ClusterAction", "AlterConfigs",
            "DescribeConfigs", "IdempotentWrite", "All",
        }
    ],
)  # fmt: skip
_TLS = _object(trustedCertificates=[_object("secretName", secretName=str, certificate=str, pattern=str)])
_CLIENT = _object(
    "type",
    type={"tls", "scram-sha-256", "scram-sha-512", "plain", "custom"},
    username=str,
    certificateAndKey=_object("secretName", "certificate", "key", secretName=str, certificate=str, key=str),
    passwordSecret=_object("secretName", "password", secretName=str, password=str),
)
_CONNECTOR = _object(tasksMax=_Whole(1), config=dict, autoRestart=_object(enabled=bool, maxRestarts=int))
_SOURCE = {"alias": str, "bootstrapServers": str, "tls": _TLS, "authentication": _CLIENT, "config": dict}
_SPECS = {
    "KafkaTopic": _object(topicName=str, partitions=_Whole(1), replicas=_Whole(1, 32767), config=dict),
    "KafkaUser": _object(
        authentication=_object("type", type={"tls", "tls-external", "scram-sha-512"}),
        authorization=_object("acls", "type", type={"simple"}, acls=[_ACL]),
    ),
    "Kafka": _object(
        "kafka",
        kafka=_object(
            "listeners",
            version=str,
            metadataVersion=str,
            listeners=[
                _object(
                    "name", "port", "type", "tls",
                    name=str,
                    port=_Whole(9092),
                    type={"internal", "route", "tlsroute", "loadbalancer", "nodeport", "ingress", "cluster-ip"},
                    tls=bool,
                    authentication=_object("type", type={"tls", "scram-sha-512", "custom"}),
                )
            ],
            authorization=_object("type", type={"simple", "custom"}),
            config=dict,
        ),
        entityOperator=_object(
            topicOperator=_ANY,
            userOperator=_ANY,
            template=_object(pod=_SECURED, topicOperatorContainer=_SECURED, userOperatorContainer=_SECURED),
        ),
    ),
    "KafkaNodePool": _object(
        "replicas", "storage", "roles",
        replicas=_Whole(0),
        roles=[{"controller", "broker"}],
        storage=_object("type", type={"ephemeral", "persistent-claim", "jbod"}, volumes=[_DISK]),
        resources=_object(requests=dict, limits=dict),
        template=_object(pod=_SECURED, kafkaContainer=_SECURED),
    ),
    "KafkaMirrorMaker2": _object(
        "replicas", "target", "mirrors",
        version=str,
        replicas=_Whole(0),
        target=_object(
            "alias", "bootstrapServers", "groupId", "configStorageTopic", "statusStorageTopic", "offsetStorageTopic",
            **_SOURCE,
            groupId=str,
            configStorageTopic=str,
            statusStorageTopic=str,
            offsetStorageTopic=str,
        ),
        mirrors=[
            _object(
                "source",
                source=_object("alias", "bootstrapServers", **_SOURCE),
                sourceConnector=_CONNECTOR,
                checkpointConnector=_CONNECTOR,
                topicsPattern=str,
                groupsPattern=str,
            )
        ],
        template=_object(pod=_SECURED, connectContainer=_SECURED),
    ),
}  # fmt: skip


def wrong(manifest: Mapping[str, Any]) -> list[str]:
    """Everything that Kubernetes would refuse because of Strimzi's schemas."""
    kind = manifest["kind"]
    if manifest["apiVersion"] != "kafka.strimzi.io/v1" or kind not in _SPECS:
        return [f"{manifest['apiVersion']} {kind}: unknown"]
    return list(_differences(kind, manifest["spec"], _SPECS[kind]))


def _differences(path: str, value: Any, kind: Any) -> Iterator[str]:
    if isinstance(kind, _Fields):
        yield from _inside(path, value, kind)
    elif isinstance(kind, set):
        if value not in kind:
            yield f"{path}: {value!r} is none of {sorted(kind)}"
    elif isinstance(kind, list):
        for index, item in enumerate(value):
            yield from _differences(f"{path}[{index}]", item, kind[0])
    elif isinstance(kind, _Whole):
        # Numbers reach mocks as floats.
        if isinstance(value, bool) or value != int(value) or not kind.least <= value <= kind.most:
            yield f"{path}: {value!r} is no whole number from {kind.least} to {kind.most}"
    elif not isinstance(value, kind):
        yield f"{path}: {value!r} is no {kind.__name__}"


def _inside(path: str, value: Any, kind: _Fields) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no object"
        return
    for key in sorted(kind.required - value.keys()):
        yield f"{path}.{key}: missing"
    for key, item in value.items():
        if key not in kind.known:
            yield f"{path}.{key}: unknown field"
        else:
            yield from _differences(f"{path}.{key}", item, kind.known[key])
