"""One Kafka broker, which is its own controller (KRaft), as a StatefulSet whose disk is the stream's volume."""

from __future__ import annotations

import base64

from tensorplane.components import versions
from tensorplane.components.base import labels, pod_security
from tensorplane.components.base.labels import SKIP_AWAIT
from tensorplane.components.base.names import digest
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.streams.broker import Request

PORT = 9092
# The Service has an endpoint once the broker is ready, and the broker depends on the Service.
_NOT_AWAITED = {SKIP_AWAIT: "true"}
_CONTROLLER_PORT = 9093
_CONFIG = "/opt/tensorplane/kafka"
_DATA = "/data"
# A record is acknowledged once it is on disk, because no other broker has a copy.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://{address}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}/kafka
log.flush.interval.messages=1
auto.create.topics.enable=false
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=2000
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
"""
# A volume that was restored from a snapshot keeps the cluster id of its origin.
_START = """\
set -eu
# One small process that starts fast; its compiler's second tier pays only for larger ones.
java="java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError"
test -e {data}/kafka/meta.properties ||
  $java kafka.tools.StorageTool format --config {config}/server.properties --cluster-id={cluster}
exec $java kafka.Kafka {config}/server.properties
"""


_COMPONENT = "stream"
_SUFFIX = "-kafka"
NAME_LIMIT = 52 - len(_SUFFIX)
"""Characters of a stream's name: pods of a StatefulSet have its name and eleven more as a label, which has 63."""


def service(stream: str) -> str:
    """Name of the broker and of its Service."""
    return f"{stream}{_SUFFIX}"


def selector(request: Request) -> dict[str, str]:
    """Labels that select the broker's pod."""
    return labels.selector(service(request.name), _COMPONENT)


def _labels(request: Request) -> dict[str, str]:
    """Labels of the broker's objects and of its pod."""
    return labels.labels(service(request.name), _COMPONENT)


def address(stream: str, namespace: str) -> str:
    """Its address in the cluster."""
    return f"{service(stream)}.{namespace}.svc:{PORT}"


def properties(*, host: str, port: int, controller: int, address: str, data: str) -> str:
    """Kafka's settings of one broker that is its own controller. With an empty `host`, it listens on all addresses."""
    return _PROPERTIES.format(host=host, port=port, controller=controller, address=address, data=data)


def declare(request: Request, opts: pulumi.ResourceOptions) -> k8s.apps.v1.StatefulSet:
    """Creates the broker. Pulumi waits until it is ready."""
    name = service(request.name)
    settings = _settings(request, opts)
    front = k8s.core.v1.Service(
        name,
        metadata={**_metadata(request, name), "annotations": _NOT_AWAITED},
        spec={"selector": selector(request), "ports": [{"name": "kafka", "port": PORT, "target_port": PORT}]},
        opts=opts,
    )
    return k8s.apps.v1.StatefulSet(
        name,
        metadata=_metadata(request, name),
        spec={
            "replicas": 1,
            "service_name": front.metadata["name"],
            "selector": {"match_labels": selector(request)},
            "template": {
                "metadata": {"labels": {**_labels(request), **selector(request)}},
                "spec": _pod(request, settings),
            },
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[request.claim])),
    )


def _metadata(request: Request, name: str) -> k8s.meta.v1.ObjectMetaArgsDict:
    return {"name": name, "namespace": request.namespace.name, "labels": _labels(request)}


def _settings(request: Request, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    """The ConfigMap of the broker's settings. Its name has a hash, so that a change restarts the broker."""
    reached = address(request.name, request.namespace.plain_name)
    text = properties(host="", port=PORT, controller=_CONTROLLER_PORT, address=reached, data=_DATA)
    name = f"{service(request.name)}-{digest(text)}"
    made = k8s.core.v1.ConfigMap(
        service(request.name),
        metadata=_metadata(request, name),
        immutable=True,
        data={"server.properties": text},
        opts=opts,
    )
    return made.metadata["name"]


def _pod(request: Request, settings: pulumi.Output[str]) -> k8s.core.v1.PodSpecArgsDict:
    # Kafka's format of a cluster id: sixteen bytes in base64.
    identity = bytes.fromhex(digest(f"{request.namespace.plain_name}/{request.name}", 32))
    cluster = base64.urlsafe_b64encode(identity).decode().rstrip("=")
    return {
        "automount_service_account_token": False,
        "enable_service_links": False,
        "security_context": pod_security.pod_args(),
        "containers": [
            {
                "name": "broker",
                "image": versions.EMBEDDED_KAFKA,
                "image_pull_policy": "IfNotPresent",
                "command": ["sh", "-c", _START.format(config=_CONFIG, data=_DATA, cluster=cluster)],
                "ports": [{"name": "kafka", "container_port": PORT}],
                "readiness_probe": {"tcp_socket": {"port": PORT}, "period_seconds": 1},
                "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "768Mi"}},
                "security_context": pod_security.CONTAINER_ARGS,
                "volume_mounts": [
                    {"name": "data", "mount_path": _DATA},
                    {"name": "settings", "mount_path": _CONFIG, "read_only": True},
                    {"name": "tmp", "mount_path": "/tmp"},  # noqa: S108  # Kafka's libraries unpack themselves there
                ],
            }
        ],
        "volumes": [
            {"name": "data", "persistent_volume_claim": {"claim_name": request.claim.metadata["name"]}},
            {"name": "settings", "config_map": {"name": settings}},
            {"name": "tmp", "empty_dir": {}},
        ],
    }
