"""One stream: its topics in Kafka, and connections of its groups and producers."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base import encrypted, outputs
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.streams.broker import Request
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.components.volumes.component import Volume
from tensorplane.components.volumes.settings import VolumeArgs


class Stream(pulumi.ComponentResource):
    """A stream that workloads read by the name of a consumer group.

    With `retain`, removing a topic from the settings and `pulumi destroy` are refused before anything changes, and even
    an unprotected topic stays in Kafka.
    """

    def __init__(
        self,
        name: str,
        args: StreamArgs,
        *,
        cluster: Cluster,
        namespace: Namespace,
        disk: "k8s.core.v1.PersistentVolumeClaim | None",
        retain: bool,
        depends_on: Sequence[pulumi.Resource] = (),
        autoscaled: bool = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        broker = args.broker_on(cluster.args)
        if broker is None:
            raise ValueError(f"stream {name} has no broker, which `check` refuses")
        props = outputs.Stream(broker=broker.kind, topics=sorted(args.topics), retain=retain)
        super().__init__(outputs.STREAM, name, dict(props), opts)
        request = Request(name, namespace, args, cluster, disk, retain, depends_on, autoscaled)
        broker.declare(request, pulumi.ResourceOptions(parent=self))
        made = outputs.StreamOutputs(topics=sorted(args.topics), groups=sorted(args.groups))
        self.register_outputs(encrypted.concealed(dict(made)))


def streams_of(
    declared: Mapping[str, StreamArgs],
    *,
    cluster: Cluster,
    namespace: Namespace,
    settings: Mapping[str, VolumeArgs],
    volumes: Mapping[str, Volume],
    depends_on: Sequence[pulumi.Resource],
    autoscaled: bool,
    opts: pulumi.ResourceOptions,
) -> dict[str, Stream]:
    """`depends_on`: resources that must be ready before a Job can be created. `autoscaled`: whether the cluster has
    KEDA for workloads."""
    return {
        name: Stream(
            name,
            args,
            cluster=cluster,
            namespace=namespace,
            disk=volumes[args.volume].claim if args.volume else None,
            retain=args.retained(settings),
            depends_on=depends_on,
            autoscaled=autoscaled,
            opts=opts,
        )
        for name, args in declared.items()
    }
