"""A Kafka as Strimzi's objects: the brokers' settings, and the specs that they come to."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from components import quantity, versions
from components.model import Model, ObjectName, refuse

_METADATA_VERSION = "4.3-IV0"
TLS_PORT = 9093

# What a namespace under Pod Security `restricted` asks of every pod and container.
POD = {"securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}}
CONTAINER = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}


def _odd(value: int) -> int:
    if value % 2 == 0:
        refuse(f"an odd number: {value} stand no more losses than {value - 1}", str(value - 1))
    return value


class BrokersArgs(Model):
    """The brokers that are made with the stream; each of them is a controller too."""

    count: Annotated[int, Field(ge=1, le=99), AfterValidator(_odd)] = 3
    """How many. An odd number: more than half of them must be there for any of them to work."""
    size_gib: Annotated[float, Field(ge=1)]
    """Disk of each broker in GiB: what its topics keep, times their copies, over the brokers, and a third to spare."""
    storage_class: ObjectName | None = None
    """The StorageClass of the disks; the cluster's default class where absent."""
    cpus: Annotated[float, Field(ge=0.001)] = 1
    """CPU cores reserved for each broker."""
    memory_gib: Annotated[float, Field(ge=1)] = 2
    """Memory of each broker in GiB."""


def kafka_spec(brokers: BrokersArgs) -> dict[str, Any]:
    """The spec of a Kafka: one way in, encrypted, by certificate; nobody may do what no KafkaUser allows."""
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
    """The spec of the KafkaNodePool: disks that stay when a broker, or the Kafka, goes."""
    disk: dict[str, Any] = {
        "id": 0,
        "type": "persistent-claim",
        "size": quantity.gibibytes(brokers.size_gib),
        "deleteClaim": False,
        "kraftMetadata": "shared",
    }
    if brokers.storage_class:
        disk["class"] = brokers.storage_class
    memory = quantity.gibibytes(brokers.memory_gib)
    return {
        "replicas": brokers.count,
        "roles": ["controller", "broker"],
        "storage": {"type": "jbod", "volumes": [disk]},
        "resources": {
            "requests": {"cpu": quantity.cpus(brokers.cpus), "memory": memory},
            "limits": {"memory": memory},
        },
        "template": {"pod": POD, "kafkaContainer": CONTAINER},
    }
