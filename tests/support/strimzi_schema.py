"""What Strimzi takes as its objects, as far as streams come to it: names and types of fields, nothing else.

The facts are those of strimzi/strimzi-kafka-operator at tag 1.2.0 (commit 6c7b43c4af0db547c10463ba09d1dfa6f5e156a0):
`install/cluster-operator/04*-Crd-*.yaml`, API version v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.schema import Whole, differences, fields

_ANY = fields()
_SECURITY = fields(
    runAsNonRoot=bool, seccompProfile=fields(type=str), allowPrivilegeEscalation=bool, capabilities=fields(drop=[str])
)
_SECURED = fields(securityContext=_SECURITY)
_DISK = fields(
    "type",
    **{"class": str},
    id=Whole(0),
    type={"ephemeral", "persistent-claim"},
    size=str,
    deleteClaim=bool,
    kraftMetadata={"shared"},
)
_ACL = fields(
    "resource",
    "operations",
    type={"allow", "deny"},
    resource=fields(
        "type", type={"topic", "group", "cluster", "transactionalId"}, name=str, patternType={"literal", "prefix"}
    ),
    operations=[
        {
            "Read", "Write", "Create", "Delete", "Alter", "Describe", "ClusterAction", "AlterConfigs",
            "DescribeConfigs", "IdempotentWrite", "All",
        }
    ],
)  # fmt: skip
_TLS = fields(trustedCertificates=[fields("secretName", secretName=str, certificate=str, pattern=str)])
_CLIENT = fields(
    "type",
    type={"tls", "scram-sha-256", "scram-sha-512", "plain", "custom"},
    username=str,
    certificateAndKey=fields("secretName", "certificate", "key", secretName=str, certificate=str, key=str),
    passwordSecret=fields("secretName", "password", secretName=str, password=str),
)
_CONNECTOR = fields(tasksMax=Whole(1), config=dict, autoRestart=fields(enabled=bool, maxRestarts=Whole()))
_SOURCE = {"alias": str, "bootstrapServers": str, "tls": _TLS, "authentication": _CLIENT, "config": dict}
_SPECS = {
    "KafkaTopic": fields(topicName=str, partitions=Whole(1), replicas=Whole(1, 32767), config=dict),
    "KafkaUser": fields(
        authentication=fields("type", type={"tls", "tls-external", "scram-sha-512"}),
        authorization=fields("acls", "type", type={"simple"}, acls=[_ACL]),
    ),
    "Kafka": fields(
        "kafka",
        kafka=fields(
            "listeners",
            version=str,
            metadataVersion=str,
            listeners=[
                fields(
                    "name", "port", "type", "tls",
                    name=str,
                    port=Whole(9092),
                    type={"internal", "route", "tlsroute", "loadbalancer", "nodeport", "ingress", "cluster-ip"},
                    tls=bool,
                    authentication=fields("type", type={"tls", "scram-sha-512", "custom"}),
                )
            ],
            authorization=fields("type", type={"simple", "custom"}),
            config=dict,
        ),
        entityOperator=fields(
            topicOperator=_ANY,
            userOperator=_ANY,
            template=fields(pod=_SECURED, topicOperatorContainer=_SECURED, userOperatorContainer=_SECURED),
        ),
    ),
    "KafkaNodePool": fields(
        "replicas", "storage", "roles",
        replicas=Whole(0),
        roles=[{"controller", "broker"}],
        storage=fields("type", type={"ephemeral", "persistent-claim", "jbod"}, volumes=[_DISK]),
        resources=fields(requests=dict, limits=dict),
        template=fields(pod=_SECURED, kafkaContainer=_SECURED),
    ),
    "KafkaMirrorMaker2": fields(
        "replicas", "target", "mirrors",
        version=str,
        replicas=Whole(0),
        target=fields(
            "alias", "bootstrapServers", "groupId", "configStorageTopic", "statusStorageTopic", "offsetStorageTopic",
            **_SOURCE,
            groupId=str,
            configStorageTopic=str,
            statusStorageTopic=str,
            offsetStorageTopic=str,
        ),
        mirrors=[
            fields(
                "source",
                source=fields("alias", "bootstrapServers", **_SOURCE),
                sourceConnector=_CONNECTOR,
                checkpointConnector=_CONNECTOR,
                topicsPattern=str,
                groupsPattern=str,
            )
        ],
        template=fields(pod=_SECURED, connectContainer=_SECURED),
    ),
}  # fmt: skip


def find_problems(manifest: Mapping[str, Any]) -> list[str]:
    """Everything that Kubernetes would refuse because of Strimzi's schemas."""
    kind = manifest["kind"]
    if manifest["apiVersion"] != "kafka.strimzi.io/v1" or kind not in _SPECS:
        return [f"{manifest['apiVersion']} {kind}: unknown"]
    return list(differences(kind, manifest["spec"], _SPECS[kind]))
