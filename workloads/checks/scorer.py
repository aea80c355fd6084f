"""Checks of a scorer's settings."""

from collections.abc import Iterator, Mapping, Sequence

from components.base.faults import Fault, Key, did_you_mean, unknown_name
from components.queues.room import PodSet
from components.streams.settings import StreamArgs
from workloads.base import Declared, WorkloadArgs
from workloads.checks import streams, without_gpus
from workloads.settings.model_server import ServerSettings
from workloads.settings.scorer import LagScalingArgs, ScorerSettings
from workloads.settings.streams import StreamUseArgs
from workloads.settings.training_job import JobSettings


def faults(settings: ScorerSettings, at: Key, pod_sets: Sequence[PodSet], declared: Declared) -> Iterator[Fault]:
    """Every fault of one scorer. `at`: the path of its settings."""
    yield from without_gpus.faults(
        settings.image,
        settings.resources,
        at,
        pod_sets,
        declared,
        lacks="client of Kafka",
        remedy="install runtime/requirements-streams.txt in an image with Python",
        uses_none="a scorer does not use GPUs, its model server does",
    )
    if settings.server not in declared.models:
        known = sorted(declared.models)
        remedy = f"choose one of {', '.join(known)}{did_you_mean(settings.server, known)}" if known else "declare one"
        reason = f"no model server is named {settings.server!r}; {remedy}"
        lacks = ("workloads", settings.server)
        yield Fault((*at, "server"), reason, given=(("workloads",),), lacks=lacks, by_names=True)
    yield from _end(settings.input.stream, settings.input.topic, settings.input.use, (*at, "input"), declared.streams)
    yield from _end(
        settings.output.stream, settings.output.topic, settings.output.use, (*at, "output"), declared.streams
    )
    if (settings.input.stream, settings.input.topic) == (settings.output.stream, settings.output.topic):
        reason = f"is {settings.output.topic}, which is also the input's: results would be scored again"
        yield Fault((*at, "output", "topic"), f"{reason}; use another topic", given=((*at, "input"),))
    yield from _partitions(settings, at, declared.streams)
    if settings.scaling:
        yield from _scaling(settings, settings.scaling, at, declared)


def _end(
    stream: str, topic: str, use: StreamUseArgs, at: Key, declared: Mapping[str, StreamArgs | None]
) -> Iterator[Fault]:
    """Faults of the names of one end of a scorer: unknown ones, and a topic that the client has no right to."""
    if stream not in declared:
        yield unknown_name((*at, "stream"), "stream", stream, declared)
        return
    if (args := declared[stream]) is None:
        return
    given = (("streams", stream),)
    unknown = [
        # `streams.NAME.group` of a job is the end's own `group`.
        Fault((*at, fault.path[-1]), fault.reason, given=fault.given)
        for fault in streams.check({stream: use}, at, declared)
    ]
    yield from unknown
    if topic not in args.topics:
        fault = unknown_name((*at, "topic"), "topic", topic, args.topics)
        yield Fault(fault.path, fault.reason, given=given)
    elif not unknown and topic not in args.topics_of(use.client):
        kind = "group" if use.group else "producer"
        reason = f"is {topic}, which {kind} {use.client} of stream {stream} does not use"
        remedy = f"add it to streams.{stream}.{kind}s.{use.client}.topics"
        yield Fault((*at, "topic"), f"{reason}; {remedy}", given=given)


def _partitions(settings: ScorerSettings, at: Key, declared: Mapping[str, StreamArgs | None]) -> Iterator[Fault]:
    stream = declared.get(settings.input.stream)
    topic = stream.topics.get(settings.input.topic) if stream else None
    most = settings.most_replicas
    if topic and most > topic.partitions:
        reason = f"is {most}, but topic {settings.input.topic} has {topic.partitions} partitions, each read"
        remedy = f"by one pod; set {topic.partitions} or less, or raise partitions"
        yield Fault((*at, *settings.count_at), f"{reason} {remedy}", given=(("streams", settings.input.stream),))


def _scaling(settings: ScorerSettings, scaling: LagScalingArgs, at: Key, declared: Declared) -> Iterator[Fault]:
    here = (*at, "scaling")
    if "replicas" in settings.model_fields_set:
        yield Fault((*at, "replicas"), "conflicts with scaling; remove one of them", given=(here,))
    if scaling.min > scaling.max:
        reason = f"is {scaling.min}, more than max, which is {scaling.max}; set {scaling.max} or less"
        yield Fault((*here, "min"), reason, given=((*here, "max"),))


def faults_between(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Fault]:
    """Faults of a scorer and another workload: a server that does not let it in, a group that both use."""
    for at, scorer in workloads.items():
        if not isinstance(scorer, ScorerSettings):
            continue
        server = scorer.server.partition("/")[0]
        serving = workloads.get((*at[:-1], server))
        clients = serving.clients if isinstance(serving, ServerSettings) else None
        if clients is not None and at[-1] not in {client.workload for client in clients}:
            reason = f"does not let in scorer {at[-1]}; add {{workload: {at[-1]}}}"
            yield Fault((*at[:-1], server, "clients"), reason, given=(at,))
        for other, workload in workloads.items():
            first = other < at or not isinstance(workload, ScorerSettings)
            if first and _group_of(workload, scorer.input.stream) == scorer.input.group:
                reason = f"is {scorer.input.group}, which {other[-1]} uses too, so each would get a part of the records"
                yield Fault((*at, "input", "group"), f"{reason}; use another group", given=(other,))


def _group_of(workload: WorkloadArgs, stream: str) -> str | None:
    """The consumer group in which a workload reads a stream."""
    if isinstance(workload, ScorerSettings):
        return workload.input.group if workload.input.stream == stream else None
    if isinstance(workload, JobSettings | ServerSettings) and (use := workload.streams.get(stream)):
        return use.group
    return None
