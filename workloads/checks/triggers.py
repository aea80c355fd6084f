"""Checks of the triggers of a pipeline."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from components.base.faults import Fault, Key, did_you_mean
from components.trigger_agent import NAME_SUFFIX
from workloads.base import Declared, WorkloadArgs
from workloads.checks import mounts
from workloads.settings.pipeline import PipelineSettings, named
from workloads.settings.pipeline_trigger import TriggerArgs
from workloads.settings.recorder import RecorderSettings


def faults(settings: PipelineSettings, name: str, at: Key, declared: Declared) -> Iterator[Fault]:
    """Every fault of the triggers of a pipeline. `at`: its path."""
    if not settings.triggers:
        return
    account, here = f"{name}{NAME_SUFFIX}", (*at, "triggers")
    # It counts what is new in its sources, and looks who made the newest versions of its outputs.
    read = {*(source.dataset for source in settings.sources.values()), *settings.writers}
    for volume in sorted({one.volume for name in read if (one := declared.datasets.get(name))}):
        for fault in mounts.check_access(account, volume, here, declared.volumes, read_only=True):
            yield replace(fault, given=(*fault.given, ("datasets",)))
    known = [named(source) for source in settings.sources.values()]
    for trigger, args in settings.triggers.items():
        yield from _trigger(args, (*here, trigger), known)


def _trigger(trigger: TriggerArgs, at: Key, known: list[str]) -> Iterator[Fault]:
    for index, dataset in enumerate(trigger.datasets or ()):
        if dataset not in known:
            reason = f"{dataset!r} is no dataset that the pipeline begins with"
            remedy = f"choose one of {', '.join(known)}{did_you_mean(dataset, known)}"
            yield Fault((*at, "datasets", str(index)), f"{reason}; {remedy}", given=((*at[:-2], "stages"),))
    if trigger.longest_seconds < trigger.quiet_seconds:
        reason = f"is {trigger.longest_seconds:g}, less than quietSeconds, which is {trigger.quiet_seconds:g}"
        yield Fault((*at, "longestSeconds"), f"{reason}; set it to more", given=((*at, "quietSeconds"),))


def faults_between(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Fault]:
    """Faults of triggers that count windows of datasets to which no recorder writes, and of other workloads with the
    name of a pipeline's triggers."""
    recorders = [one for one in map(_recorder, workloads.values()) if one]
    recorded = {one.dataset if one.branch == "main" else f"{one.dataset}@{one.branch}" for one in recorders}
    for at, pipeline in workloads.items():
        if not isinstance(pipeline, PipelineSettings):
            continue
        if pipeline.triggers and (other := (*at[:-1], f"{at[-1]}{NAME_SUFFIX}")) in workloads:
            yield Fault(other, f"is also the name of the triggers of pipeline {at[-1]}; use another name", given=(at,))
        for name, trigger in pipeline.triggers.items():
            counted = {named(pipeline.sources[each]) for each in pipeline.counted(trigger)}
            if trigger.windows and counted and not counted & recorded:
                names = " and ".join(sorted(counted))
                reason = f"is {trigger.windows}, but no recorder writes to {names}"
                where = (*at, "triggers", name, "windows")
                yield Fault(where, f"{reason}; count versions instead, or add a recorder", given=(at[:-1],))


def _recorder(workload: object) -> RecorderSettings | None:
    return workload if isinstance(workload, RecorderSettings) else None
