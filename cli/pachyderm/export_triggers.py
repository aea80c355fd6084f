"""Triggers of pipelines as conditions of Pachyderm's inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorplane.cli.pachyderm.note import Note
from tensorplane.workloads.pipeline.settings import PipelineSettings, StageInput, source_name
from tensorplane.workloads.pipeline.triggers.settings import TriggerArgs

_MIB = 1 << 20


def starts(pipeline: str, settings: PipelineSettings, source: StageInput) -> tuple[dict[str, Any], list[Note]]:
    """The fields of an input that no stage makes, which say when its commits start jobs, by default each of them; and
    notes of what has no equal. The pipeline has triggers.
    """
    notes = [note for name, one in settings.triggers.items() for note in _notes(f"{pipeline}.triggers.{name}", one)]
    counting = [one for one in settings.triggers.values() if not one.schedule and _counts(one, source)]
    schedules = [one.schedule for one in settings.triggers.values() if one.schedule]
    if not counting and not schedules:
        return {"propagationSpec": {"never": True}}, notes
    if any(one.mib is None and (one.versions or 1) == 1 for one in counting):
        return {}, notes
    made: dict[str, Any] = {}
    if sizes := [one.mib for one in counting if one.mib]:
        made["size"] = f"{max(1, round(min(sizes) * _MIB))}B"
    if versions := [one.versions for one in counting if one.versions]:
        made["commits"] = min(versions)
    notes += _together(pipeline, settings)
    if len(schedules) > (0 if made else 1):
        problem = "Pachyderm takes one schedule or other conditions"
        notes.append(Note(pipeline, "triggers", f"{problem}, so a schedule is left out", "use one of them"))
    return {"trigger": made or {"cronSpec": schedules[0]}}, notes


def _counts(trigger: TriggerArgs, source: StageInput) -> bool:
    return trigger.datasets is None or source_name(source) in trigger.datasets


def _together(pipeline: str, settings: PipelineSettings) -> Iterator[Note]:
    """Notes of the triggers that count several inputs together."""
    first = [
        one
        for stage in settings.stages.values()
        for name, one in stage.inputs.items()
        if name not in settings.before(stage)
    ]
    for name, trigger in settings.triggers.items():
        several = len({source_name(one) for one in first if _counts(trigger, one)}) > 1
        if several and (trigger.mib or (trigger.versions or 1) > 1):
            key = "mib" if trigger.mib else "versions"
            problem = "Pachyderm counts each input by itself, not all together"
            yield Note(f"{pipeline}.triggers.{name}", key, problem, "set less")


def _notes(at: str, trigger: TriggerArgs) -> Iterator[Note]:
    for key, value in (("files", trigger.files), ("windows", trigger.windows)):
        if value:
            yield Note(at, key, "left out: Pachyderm counts commits and bytes", "set versions or mib")
    if trigger.quiet_seconds:
        yield Note(at, "quietSeconds", "left out: Pachyderm does not wait", "put several files into a commit")
