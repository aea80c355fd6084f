"""Checks of a scorer's settings."""

from collections.abc import Iterator, Mapping, Sequence

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.model_server import checks as model_server_checks
from tensorplane.workloads.model_server.settings import ServerSettings
from tensorplane.workloads.rules import circles, images
from tensorplane.workloads.rules import streams as rules_streams
from tensorplane.workloads.scorer.settings import LagScalingArgs, ScorerSettings


def find_problems(
    settings: ScorerSettings, at: Key, pod_sets: Sequence[PodSet], declared: Declared
) -> Iterator[Problem]:
    """Every problem of one scorer. `at`: the path of its settings."""
    yield from images.check_without_gpus(
        settings.image,
        settings.resources,
        at,
        pod_sets,
        declared,
        lacks="client of Kafka",
        remedy="install images/requirements/streams.txt in an image with Python",
        uses_none="a scorer does not use GPUs, its model server does",
    )
    yield from model_server_checks.check_server_name(settings.server, (*at, "server"), declared)
    yield from rules_streams.check_topic(
        settings.input.stream, settings.input.topic, settings.input.use, (*at, "input"), declared.streams
    )
    if (settings.input.stream, settings.input.topic) == (settings.output.stream, settings.output.topic):
        reason = f"is {settings.output.topic}, which is also the input's: results would be scored again"
        yield Problem((*at, "output", "topic"), f"{reason}; use another topic", given=((*at, "input"),))
    else:
        yield from rules_streams.check_topic(
            settings.output.stream, settings.output.topic, settings.output.use, (*at, "output"), declared.streams
        )
    yield from _partitions(settings, at, declared.streams)
    if settings.scaling:
        yield from _scaling(settings, settings.scaling, at, declared)


def _partitions(settings: ScorerSettings, at: Key, declared: Mapping[str, StreamArgs | None]) -> Iterator[Problem]:
    stream = declared.get(settings.input.stream)
    topic = stream.topics.get(settings.input.topic) if stream else None
    most = settings.most_replicas
    if topic and most > topic.partitions:
        reason = f"is {most}, but topic {settings.input.topic} has {topic.partitions} partitions, each read"
        remedy = f"by one pod; set {topic.partitions} or less, or raise partitions"
        yield Problem((*at, *settings.count_at), f"{reason} {remedy}", given=(("streams", settings.input.stream),))


def _scaling(settings: ScorerSettings, scaling: LagScalingArgs, at: Key, declared: Declared) -> Iterator[Problem]:
    here = (*at, "scaling")
    if "replicas" in settings.model_fields_set:
        yield Problem((*at, "replicas"), "conflicts with scaling; remove one of them", given=(here,))
    if scaling.min > scaling.max:
        reason = f"is {scaling.min}, more than max, which is {scaling.max}; set {scaling.max} or less"
        yield Problem((*here, "min"), reason, given=((*here, "max"),))


def find_problems_between(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Problems of a scorer whose server does not let it in, and of scorers that replace each other's results, or score
    them in a circle.
    """
    scorers = {at: one for at, workload in workloads.items() for one in _scorer(workload)}
    for at, scorer in scorers.items():
        server = scorer.server.partition("/")[0]
        serving = workloads.get((*at[:-1], server))
        clients = serving.clients if isinstance(serving, ServerSettings) else None
        if clients is not None and at[-1] not in {client.workload for client in clients}:
            reason = f"does not let in scorer {at[-1]}; add {{workload: {at[-1]}}}"
            yield Problem((*at[:-1], server, "clients"), reason, given=(at,))
    yield from _same_keys(scorers)
    yield from _circles(scorers)


def _scorer(workload: object) -> list[ScorerSettings]:
    """The workload, if it is a scorer."""
    return [workload] if isinstance(workload, ScorerSettings) else []


def _same_keys(scorers: Mapping[Key, ScorerSettings]) -> Iterator[Problem]:
    """Scorers whose results have the same keys in one topic. A key has the name of the input's topic."""
    first: dict[tuple[str, str, str], Key] = {}
    for at, one in scorers.items():
        other = first.setdefault((one.output.stream, one.output.topic, one.input.topic), at)
        # Two of one group are reported by `topics`.
        if (scorers[other].input.stream, scorers[other].input.group) != (one.input.stream, one.input.group):
            shared = f"to which scorer {other[-1]} writes with the same keys, {one.input.topic}-PARTITION-OFFSET"
            reason = f"is {one.output.topic}, {shared}, so each would replace the other's results"
            yield Problem((*at, "output", "topic"), f"{reason}; use another topic", given=(other,))


def _circles(scorers: Mapping[Key, ScorerSettings]) -> Iterator[Problem]:
    """Scorers of which each scores the results of the one before, each circle once."""
    read = {at: (one.input.stream, one.input.topic) for at, one in scorers.items()}
    written = {at: (one.output.stream, one.output.topic) for at, one in scorers.items()}
    # One that reads what it writes itself is reported by its own checks.
    after = {at: [other for other in scorers if other != at and read[other] == written[at]] for at in scorers}
    for circle in circles.each(after):
        names = " -> ".join(each[-1] for each in circle)
        reason = f"makes a circle of scorers that score each other's results for ever, {names}"
        yield Problem((*circle[0], "output", "topic"), f"{reason}; use another topic", given=tuple(circle[1:-1]))
