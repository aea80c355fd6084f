"""Checks between workloads that make versions of datasets: one writer of each branch, and no circle of pipelines that
start each other."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tensorplane.components.base.problems import Key, Problem
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.pipeline.settings import MAIN, PipelineSettings, source_name
from tensorplane.workloads.pipeline.triggers.settings import TriggerArgs
from tensorplane.workloads.recorder.settings import RecorderSettings
from tensorplane.workloads.rules import circles


class _Writer(NamedTuple):
    """A workload, or a stage of one, that makes the versions of a branch."""

    workload: Key
    at: Key
    """The key that names the dataset."""
    shown: str


def find_problems_between(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Problems of datasets with several writers, of which each would undo what another has made, and of circles of
    triggers, which would start runs for ever."""
    first: dict[tuple[str, str], _Writer] = {}
    for at, workload in workloads.items():
        for branch, writer in _written(at, workload):
            other = first.setdefault(branch, writer)
            # Two stages of one pipeline are reported by its own checks.
            if other.workload != writer.workload:
                name = branch[0] if branch[1] == MAIN else f"{branch[0]}@{branch[1]}"
                reason = f"{other.shown} writes to {name} too, and each would undo what the other made"
                yield Problem(writer.at, f"{reason}; use a dataset for each", given=(other.at,))
    yield from _circles({at: one for at, workload in workloads.items() for one in _pipeline(workload)})


def _pipeline(workload: object) -> list[PipelineSettings]:
    """The workload, if it is a pipeline."""
    return [workload] if isinstance(workload, PipelineSettings) else []


def _written(at: Key, workload: object) -> Iterator[tuple[tuple[str, str], _Writer]]:
    """The branches of which a workload makes versions, and what of it does."""
    if isinstance(workload, RecorderSettings):
        yield (workload.dataset, workload.branch), _Writer(at, (*at, "dataset"), f"recorder {at[-1]}")
    for pipeline in _pipeline(workload):
        for name, stage in pipeline.stages.items():
            shown = f"stage {name} of pipeline {at[-1]}"
            yield (stage.output, MAIN), _Writer(at, (*at, "stages", name, "output"), shown)


def _circles(pipelines: Mapping[Key, PipelineSettings]) -> Iterator[Problem]:
    """Pipelines of which each run makes a version that starts a run of the next one, each circle once. Without any,
    those that start each other together.
    """
    after = {at: [next_ for next_, other in pipelines.items() if _starts(one, other)] for at, one in pipelines.items()}
    found = list(circles.each(after))
    for circle in found:
        at = circle[0]
        trigger = next(name for name, one in pipelines[at].triggers.items() if _is_started(pipelines, circle, one))
        names = " -> ".join(each[-1] for each in circle)
        yield _endless((*at, "triggers", trigger), f"in an endless circle, {names}", circle)
    if not found and (together := _together(pipelines)):
        at, *others = together
        trigger = next(iter(_started(pipelines[at], _written_by(together.values()))))
        names = " and ".join(each[-1] for each in others)
        yield _endless((*at, "triggers", trigger), f"without an end, together with {names}", [*together])


def _endless(at: Key, how: str, pipelines: Sequence[Key]) -> Problem:
    given = tuple((*each, key) for each in pipelines for key in ("stages", "triggers"))
    return Problem(at, f"starts runs {how}; limit it to other datasets, or give one of them a schedule", given=given)


def _together(pipelines: Mapping[Key, PipelineSettings]) -> dict[Key, PipelineSettings]:
    """Pipelines that go on for ever once each has run: the versions that their runs make start each of them. None is
    left out without which the others come to rest.
    """
    found = _sustained(pipelines)
    for at in [*found]:
        found = _sustained({other: one for other, one in found.items() if other != at}) or found
    return found


def _sustained(pipelines: Mapping[Key, PipelineSettings]) -> dict[Key, PipelineSettings]:
    """All that go on for ever, also those that only follow others."""
    found = dict(pipelines)
    while True:
        written = _written_by(found.values())
        started = {at: one for at, one in found.items() if any(_started(one, written))}
        if len(started) == len(found):
            return found
        found = started


def _written_by(pipelines: Iterable[PipelineSettings]) -> set[str]:
    return {dataset for one in pipelines for dataset in one.writers}


def _started(pipeline: PipelineSettings, written: Collection[str]) -> Iterator[str]:
    """The triggers of a pipeline for which a version of each of these datasets is enough."""
    yield from (name for name, one in pipeline.triggers.items() if _is_enough(pipeline, one, written))


def _is_started(pipelines: Mapping[Key, PipelineSettings], circle: Sequence[Key], trigger: TriggerArgs) -> bool:
    """Whether a trigger of the circle's first pipeline is one that its last one starts."""
    return _counts(pipelines[circle[0]], trigger, pipelines[circle[-2]])


def _starts(one: PipelineSettings, other: PipelineSettings) -> bool:
    """Whether each run of a pipeline starts one of another."""
    return any(_counts(other, trigger, one) for trigger in other.triggers.values())


def _counts(pipeline: PipelineSettings, trigger: TriggerArgs, writer: PipelineSettings) -> bool:
    """Whether what a run of the writer makes, a version of each output, is enough for a trigger of a pipeline."""
    return _is_enough(pipeline, trigger, writer.writers)


def _is_enough(pipeline: PipelineSettings, trigger: TriggerArgs, written: Collection[str]) -> bool:
    """Whether a version of each of these datasets is enough for a trigger. One that waits for more, or for files that
    really changed, may come to rest."""
    if trigger.schedule or trigger.files or trigger.mib or trigger.windows:
        return False
    datasets = {source_name(pipeline.sources[name]) for name in pipeline.trigger_sources(trigger)}
    return len(datasets & {*written}) >= (trigger.versions or 1)
