"""Strimzi resources of a Kafka cluster: settings of the brokers, and the specs."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from tensorplane.components import versions
from tensorplane.components.base import quantities
from tensorplane.components.base.model import In, Model, ObjectName, refuse_all_but

_METADATA_VERSION = "4.3-IV0"
TLS_PORT = 9093

# Security contexts for Pod Security level `restricted`.
POD = {"securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}}
CONTAINER = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}


def _check_odd(value: int) -> int:
    if value % 2 == 0:
        refuse_all_but(f"an odd number ({value} tolerate no more failures than {value - 1})", str(value - 1))
    return value


class BrokersArgs(Model):
    """The brokers of a new Kafka cluster; each is also a KRaft controller."""

    count: Annotated[int, Field(ge=1, le=99), AfterValidator(_check_odd)] = 3
    """Number of brokers. Use an odd number, because a majority must be available."""
    size_gib: Annotated[float, Field(ge=1, le=1_048_576)]
    """Disk of each broker in GiB. Plan for the topics' retention times their replicas, divided by the brokers, plus a
    third."""
    storage_class: In[ObjectName] | None = None
    """StorageClass of the disks; the cluster's default class by default."""
    cpus: Annotated[float, Field(ge=0.001, le=1024)] = 1
    """CPU request of each broker."""
    memory_gib: Annotated[float, Field(ge=1, le=65536)] = 2
    """Memory of each broker in GiB."""


def kafka_spec(brokers: BrokersArgs) -> dict[str, Any]:
    """The spec of a Kafka resource: one listener with TLS and client certificates; KafkaUsers grant all permissions."""
    copies = min(3, brokers.count)
    safe = max(1, copies - 1)
    listener = {"name": "tls", "port": TLS_PORT, "type": "internal", "tls": True, "authentication": {"type": "tls"}}
    return {
        "kafka": {
            "version": versions.KAFKA,
            "metadataVersion": _METADATA_VERSION,
            "listeners": [listener],
            "authorization": {"type": "simple"},
            "config": {
                "auto.create.topics.enable": False,
                "default.replication.factor": copies,
                "min.insync.replicas": safe,
                "offsets.topic.replication.factor": copies,
                "transaction.state.log.replication.factor": copies,
                "transaction.state.log.min.isr": safe,
            },
        },
        "entityOperator": {
            "topicOperator": {},
            "userOperator": {},
            "template": {
                "pod": POD,
                "topicOperatorContainer": CONTAINER,
                "userOperatorContainer": CONTAINER,
            },
        },
    }


def node_pool_spec(brokers: BrokersArgs) -> dict[str, Any]:
    """The spec of the KafkaNodePool. Its disks are kept when a broker or the Kafka resource is deleted."""
    disk: dict[str, Any] = {
        "id": 0,
        "type": "persistent-claim",
        "size": quantities.gibibytes(brokers.size_gib),
        "deleteClaim": False,
        "kraftMetadata": "shared",
    }
    if brokers.storage_class:
        disk["class"] = brokers.storage_class
    memory = quantities.gibibytes(brokers.memory_gib)
    return {
        "replicas": brokers.count,
        "roles": ["controller", "broker"],
        "storage": {"type": "jbod", "volumes": [disk]},
        "resources": {
            "requests": {"cpu": quantities.cpus(brokers.cpus), "memory": memory},
            "limits": {"memory": memory},
        },
        "template": {"pod": POD, "kafkaContainer": CONTAINER},
    }
