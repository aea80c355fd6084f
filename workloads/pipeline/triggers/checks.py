"""Checks of the triggers of a pipeline."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tensorplane.components.base.problems import Key, Problem, did_you_mean
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.pipeline.settings import PipelineSettings, source_name
from tensorplane.workloads.pipeline.triggers.agent import NAME_SUFFIX
from tensorplane.workloads.pipeline.triggers.settings import TriggerArgs
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.recorder.settings import RecorderSettings


def find_problems(settings: PipelineSettings, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Every problem of the triggers of a pipeline. `at`: its path."""
    if not settings.triggers:
        return
    account, here = f"{name}{NAME_SUFFIX}", (*at, "triggers")
    # It counts what is new in its sources, and looks who made the newest versions of its outputs.
    read = {*(source.dataset for source in settings.sources.values()), *settings.writers}
    for volume in sorted({one.volume for name in read if (one := declared.datasets.get(name))}):
        for problem in pods_checks.check_access(account, volume, here, declared.volumes, read_only=True):
            yield replace(problem, given=(*problem.given, ("datasets",)))
    known = [source_name(source) for source in settings.sources.values()]
    for trigger, args in settings.triggers.items():
        yield from _trigger(args, (*here, trigger), known)


def _trigger(trigger: TriggerArgs, at: Key, known: list[str]) -> Iterator[Problem]:
    for index, dataset in enumerate(trigger.datasets or ()):
        if dataset not in known:
            reason = f"{dataset!r} is no dataset that the pipeline begins with"
            remedy = f"choose one of {', '.join(known)}{did_you_mean(dataset, known)}"
            yield Problem((*at, "datasets", str(index)), f"{reason}; {remedy}", given=((*at[:-2], "stages"),))
    if trigger.longest_seconds < trigger.quiet_seconds:
        reason = f"is {trigger.longest_seconds:g}, less than quietSeconds, which is {trigger.quiet_seconds:g}"
        yield Problem((*at, "longestSeconds"), f"{reason}; set it to more", given=((*at, "quietSeconds"),))


def find_problems_between(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Problems of triggers that count windows of datasets to which no recorder writes, and of other workloads with the
    name of a pipeline's triggers."""
    recorders = [one for one in map(_recorder, workloads.values()) if one]
    recorded = {one.dataset if one.branch == "main" else f"{one.dataset}@{one.branch}" for one in recorders}
    for at, pipeline in workloads.items():
        if not isinstance(pipeline, PipelineSettings):
            continue
        if pipeline.triggers and (other := (*at[:-1], f"{at[-1]}{NAME_SUFFIX}")) in workloads:
            yield Problem(
                other, f"is also the name of the triggers of pipeline {at[-1]}; use another name", given=(at,)
            )
        for name, trigger in pipeline.triggers.items():
            datasets = {source_name(pipeline.sources[each]) for each in pipeline.trigger_sources(trigger)}
            if trigger.windows and datasets and not datasets & recorded:
                names = " and ".join(sorted(datasets))
                reason = f"is {trigger.windows}, but no recorder writes to {names}"
                path = (*at, "triggers", name, "windows")
                yield Problem(path, f"{reason}; count versions instead, or add a recorder", given=(at[:-1],))


def _recorder(workload: object) -> RecorderSettings | None:
    return workload if isinstance(workload, RecorderSettings) else None
