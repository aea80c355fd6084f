"""What starts runs: every commit to an input, unless the spec says something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorplane.cli.pachyderm import amounts
from tensorplane.cli.pachyderm.inputs import Leaf
from tensorplane.cli.pachyderm.names import label, unused
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.spec import PfsInput, Trigger
from tensorplane.components.base import cron

_MIB = 1 << 20


@dataclass(frozen=True)
class Source:
    """An input of a pipeline that no stage of it makes."""

    pipeline: str
    """The name in its spec."""
    leaf: Leaf
    input_name: str
    """DATASET, or DATASET@BRANCH."""

    @property
    def trigger(self) -> Trigger | None:
        """The conditions of its spec."""
        source = self.leaf.source
        return source.trigger if isinstance(source, PfsInput) else None

    @property
    def starts_none(self) -> bool:
        """Whether its commits start no runs."""
        source = self.leaf.source
        return isinstance(source, PfsInput) and bool(source.propagation_spec and source.propagation_spec.never)


def convert(sources: Sequence[Source], notes: list[Note]) -> dict[str, dict[str, Any]]:
    """The triggers of a pipeline with these inputs."""
    made: dict[str, dict[str, Any]] = {}
    at_once = [one.input_name for one in sources if not one.trigger and not one.starts_none]
    every = {one.input_name for one in sources}
    if at_once:
        some = list(dict.fromkeys(at_once))
        made["new"] = {} if {*some} == every else {"datasets": some}
    for source in sources:
        if source.trigger and any(_starts_another(one, source) for one in sources):
            problem = "a run that another input starts reads the newest commit, in Pachyderm that of the last trigger"
            remedy = "read a branch that `tensorplane data rollback --branch` moves"
            notes.append(Note(source.pipeline, f"{source.leaf.at}.trigger", problem, remedy))
        if source.trigger and source.input_name not in at_once:
            for found in _conditions(source, source.trigger, notes):
                if found not in made.values():
                    made[unused(label(source.input_name), made)] = found
    if any("schedule" in one for one in made.values()):
        notes += [_starts_at_times(one) for one in sources if one.starts_none]
    return made


def _starts_at_times(source: Source) -> Note:
    problem = "a schedule starts a run as well where only this input is new (in Pachyderm, it starts none)"
    return Note(
        source.pipeline, f"{source.leaf.at}.propagationSpec", problem, "count the other inputs: versions or mib"
    )


def _starts_another(one: Source, source: Source) -> bool:
    """Whether an input starts runs of another one at other times than that one's own trigger."""
    return not one.starts_none and (one.input_name, one.trigger) != (source.input_name, source.trigger)


def _conditions(source: Source, trigger: Trigger, notes: list[Note]) -> Iterator[dict[str, Any]]:
    common: Mapping[str, Any] = {"datasets": [source.input_name]}
    found: list[dict[str, Any]] = []
    if trigger.cron_spec:
        # Pachyderm heeds no other condition then.
        trigger = Trigger(cron_spec=trigger.cron_spec)
    if trigger.commits:
        found.append({**common, "versions": trigger.commits})
    size = amounts.data(trigger.size) if trigger.size else None
    if size:
        found.append({**common, "mib": max(round(size / _MIB, 6), 1e-6)})
    elif trigger.size:
        notes.append(_note(source, "size", f"{trigger.size!r} is no size, and left out", "set mib of the trigger"))
    for field, schedule in (("cronSpec", trigger.cron_spec), ("rateLimitSpec", trigger.rate_limit_spec)):
        if schedule and cron.problem(schedule) is None:
            found.append({"schedule": cron.MACROS.get(schedule, schedule)})
        elif schedule:
            problem = f"{schedule!r} is no schedule of five fields, and left out"
            notes.append(_note(source, field, problem, "set schedule of the trigger"))
    if not found and trigger == Trigger(branch=trigger.branch):
        problem = "has no condition, so every commit starts a run (in Pachyderm, none does)"
        notes.append(Note(source.pipeline, f"{source.leaf.at}.trigger", problem, "remove it, or set a condition"))
    if trigger.all and len(found) > 1:
        problem = "each condition starts runs by itself, not all together"
        notes.append(_note(source, "all", problem, "remove the triggers that are too early"))
    yield from found or [dict(common)]


def _note(source: Source, field: str, problem: str, remedy: str) -> Note:
    return Note(source.pipeline, f"{source.leaf.at}.trigger.{field}", problem, remedy)


def inside(pipeline: str, leaves: Sequence[Leaf]) -> Iterator[Note]:
    """Notes of triggers of inputs that a stage of the same pipeline makes."""
    for leaf in leaves:
        if isinstance(leaf.source, PfsInput) and (leaf.source.trigger or leaf.source.propagation_spec):
            field = "trigger" if leaf.source.trigger else "propagationSpec"
            problem = "left out: a run works on all stages whose input is new"
            remedy = "read a branch made by `tensorplane data branch`, which `tensorplane data rollback --branch` moves"
            yield Note(pipeline, f"{leaf.at}.{field}", problem, remedy)
