"""All streams of a stack, with the claims of their volumes."""

from collections.abc import Mapping, Sequence

import pulumi

from components.clusters.component import Cluster
from components.namespace import Namespace
from components.streams.component import Stream
from components.streams.settings import StreamArgs
from components.volumes.component import Volume
from components.volumes.settings import VolumeArgs


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
