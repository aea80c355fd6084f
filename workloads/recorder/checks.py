"""Checks of a recorder's settings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tensorplane.components.base.problems import Key, Problem, unknown_name
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.recorder.settings import RecorderSettings
from tensorplane.workloads.rules import images
from tensorplane.workloads.rules import streams as rules_streams

_COPIES = 3
"""A window's records are in memory as they were read, and once more as its files."""
_BESIDES_MIB = 128
"""Memory of Python, Kafka's client and what it reads ahead."""


def find_problems(
    settings: RecorderSettings, name: str, at: Key, pod_sets: Sequence[PodSet], declared: Declared
) -> Iterator[Problem]:
    """Every problem. `name`: of the workload and its service account. `at`: the path of its settings."""
    yield from images.check_without_gpus(
        settings.image,
        settings.resources,
        at,
        pod_sets,
        declared,
        lacks="client of Kafka",
        remedy="install images/requirements/streams.txt in an image with Python",
        uses_none="a recorder does not use GPUs",
    )
    read = settings.input
    yield from rules_streams.check_topic(read.stream, read.topic, read.use, (*at, "input"), declared.streams)
    yield from _dataset(settings, name, at, declared)
    needed = settings.window.mib * _COPIES + _BESIDES_MIB
    if needed > settings.resources.memory_gib * 1024:
        reason = f"is {settings.window.mib}, for which the pod needs {needed / 1024:.2g} GiB, and it has"
        reason = f"{reason} {settings.resources.memory_gib:g}; raise resources.memoryGib, or lower it"
        yield Problem((*at, "window", "mib"), reason, given=((*at, "resources", "memoryGib"),))


def _dataset(settings: RecorderSettings, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    path, given = (*at, "dataset"), (("datasets", settings.dataset),)
    if settings.dataset not in declared.datasets:
        yield unknown_name(path, "dataset", settings.dataset, declared.datasets)
        return
    if (args := declared.datasets[settings.dataset]) is None:
        return
    for problem in pods_checks.check_access(name, args.volume, path, declared.volumes, read_only=False):
        yield replace(problem, given=(*problem.given, *given))
    if args.table:
        reason = f"dataset {settings.dataset} is a table of Parquet files, and a recorder writes records as they are"
        remedy = "use another dataset, and a stage of a pipeline that makes the table of it"
        yield Problem(path, f"{reason}; {remedy}", given=given)
