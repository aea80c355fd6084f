"""When the stages of a run are likely to end: from the parts that are done, or from the last run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorplane.cli.pipelines.listing import Run, StageRun


@dataclass(frozen=True)
class Ahead:
    """What is known of a stage before it ends."""

    stage: StageRun
    after: tuple[str, ...]
    """The stages that it waits for."""
    parallel: int = 1
    """The most pods at once."""
    last: StageRun | None = None
    """The stage in the last run in which it worked on parts."""


def last(run: Run, others: Sequence[Run], stage: str) -> StageRun | None:
    """The stage in the newest other run in which it worked on parts and finished. `others`: the newest first."""
    found = (one for other in others if other.name != run.name for one in other.stages if one.stage == stage)
    return next((one for one in found if one.state == "finished" and one.done), None)


def seconds(stages: Mapping[str, Ahead]) -> dict[str, float | None]:
    """Seconds until each stage ends; None where nothing tells, 0 once it has ended."""
    found: dict[str, float | None] = {}

    def until(name: str) -> float | None:
        if name not in found:
            found[name] = _after(stages[name], [until(each) for each in stages[name].after if each in stages])
        return found[name]

    return {name: until(name) for name in stages}


def _after(ahead: Ahead, before: Sequence[float | None]) -> float | None:
    if ahead.stage.state not in ("running", "waiting"):
        return 0.0
    begins = [each for each in before if each is not None]
    own = _left(ahead)
    return None if own is None or len(begins) < len(before) else max(begins, default=0.0) + own


def _left(ahead: Ahead) -> float | None:
    """How long the stage itself still takes."""
    stage = ahead.stage
    ended, left = stage.done + stage.failed, _todo(stage)
    if stage.parts is not None and ended and stage.working_seconds:
        return stage.working_seconds / ended * max(left - ended, 0)
    if ahead.last is None or ahead.last.seconds is None:
        return None
    whole = ahead.last.seconds
    if stage.parts is not None:
        whole *= _rounds(left, ahead.parallel) / _rounds(ahead.last.done + ahead.last.failed, ahead.parallel)
    so_far = stage.seconds or 0.0
    # A stage that takes longer than its last run does not tell how much.
    return whole - so_far if whole > so_far else None


def _todo(stage: StageRun) -> int:
    """Parts that need work."""
    return max((stage.parts or 0) - stage.skipped, 0)


def _rounds(parts: int, parallel: int) -> int:
    """How often so many parts fill the pods that run at once."""
    return max(-(-parts // parallel), 1)
