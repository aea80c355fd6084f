"""Workloads with the name of an object of a stream."""

from collections.abc import Iterator, Mapping

from components.base.problems import Key, Problem
from components.clusters.settings import ClusterArgs
from components.streams.settings import StreamArgs
from workloads.family import WorkloadArgs


def find_problems(
    workloads: Mapping[Key, WorkloadArgs], streams: Mapping[str, StreamArgs], cluster: ClusterArgs
) -> Iterator[Problem]:
    """Problems of names that a stream's Services or NetworkPolicies have."""
    services = _services(streams, cluster)
    for at, workload in workloads.items():
        name = at[-1]
        if stream := services.get(name):
            reason = f"is also the name of a Service of stream {stream}; use another name"
            yield Problem(at, reason, given=(("streams", stream),))
        stream = name.removesuffix("-stream")
        if stream != name and stream in streams and workload.accepts_clients:
            reason = f"is also the name of a NetworkPolicy of stream {stream}; use another name"
            yield Problem(at, reason, given=(("streams", stream),))


def _services(streams: Mapping[str, StreamArgs], cluster: ClusterArgs) -> dict[str, str]:
    """Services of brokers; the stream by Service."""
    return {
        service: name
        for name, args in streams.items()
        if (broker := args.broker_on(cluster))
        for service in broker.services(name)
    }
