"""Workloads and streams: names that both have, topics and groups that two workloads use, jobs with idle readers."""

from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Note, Problem, unknown_name
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.model_server.settings import ServerSettings
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.pods.streams import StreamUseArgs
from tensorplane.workloads.recorder.settings import RecorderSettings
from tensorplane.workloads.scorer.settings import ScorerSettings
from tensorplane.workloads.training_job.settings import JobSettings


def check_names(
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


def check_topic(
    stream: str, topic: str, use: StreamUseArgs, at: Key, declared: Mapping[str, StreamArgs | None]
) -> Iterator[Problem]:
    """Problems of the names of a topic: unknown ones, and one that the client has no right to."""
    if stream not in declared:
        yield unknown_name((*at, "stream"), "stream", stream, declared)
        return
    if (args := declared[stream]) is None:
        return
    given = (("streams", stream),)
    unknown = [
        # `streams.NAME.group` of a job is the workload's own `group` here.
        Problem((*at, problem.path[-1]), problem.reason, given=problem.given)
        for problem in pods_checks.check_stream_uses({stream: use}, at, declared)
    ]
    yield from unknown
    if topic not in args.topics:
        problem = unknown_name((*at, "topic"), "topic", topic, args.topics)
        yield Problem(problem.path, problem.reason, given=given)
    elif not unknown and topic not in args.topics_of(use.client):
        kind = "group" if use.group else "producer"
        reason = f"is {topic}, which {kind} {use.client} of stream {stream} does not use"
        remedy = f"add it to streams.{stream}.{kind}s.{use.client}.topics"
        yield Problem((*at, "topic"), f"{reason}; {remedy}", given=given)


def check_groups(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Problems of a scorer or recorder whose group another workload uses."""
    for at, one in workloads.items():
        if not isinstance(one, ScorerSettings | RecorderSettings):
            continue
        for other, workload in workloads.items():
            first = other < at or not isinstance(workload, ScorerSettings | RecorderSettings)
            if first and _group_of(workload, one.input.stream) == one.input.group:
                reason = f"is {one.input.group}, which {other[-1]} uses too, so each would get a part of the records"
                yield Problem((*at, "input", "group"), f"{reason}; use another group", given=(other,))


def _group_of(workload: WorkloadArgs, stream: str) -> str | None:
    """The consumer group in which a workload reads a stream."""
    if isinstance(workload, ScorerSettings | RecorderSettings):
        return workload.input.group if workload.input.stream == stream else None
    if isinstance(workload, JobSettings | ServerSettings) and (use := workload.streams.get(stream)):
        return use.group
    return None


def idle_reader_notes(workloads: Mapping[Key, WorkloadArgs], streams: Mapping[str, StreamArgs]) -> Iterator[Note]:
    """A note for each job and topic. A program of one's own may divide the records in another way."""
    for at, job in workloads.items():
        if isinstance(job, JobSettings):
            yield from _of_job(job, (*at, "strategy", "workers"), streams)


def _of_job(job: JobSettings, at: Key, streams: Mapping[str, StreamArgs]) -> Iterator[Note]:
    workers = getattr(job.strategy, "workers", 1)
    for name, use in job.streams.items():
        stream = streams.get(name)
        if not stream or not use.group:
            continue
        for topic in stream.topics_of(use.client):
            partitions = stream.topics[topic].partitions
            if partitions < workers:
                reason = f"is {workers}, but topic {topic} of stream {name} has {partitions} partitions"
                yield Note(at, f"{reason}, each read by one worker; set {partitions} or less, or raise partitions")
