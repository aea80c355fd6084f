"""Runs of pipelines as a table for the terminal, and as plain values for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.output.numbers import NOTHING
from tensorplane.cli.output.tables import table
from tensorplane.cli.pipelines import listing
from tensorplane.cli.pipelines.listing import Run, StageRun
from tensorplane.components.base.labels import NAME
from tensorplane.components.base.plural import number_of
from tensorplane.core.times import age, duration
from tensorplane.workloads.pipeline import run as pipeline_run

_MOST_RUNS = 5
"""Runs that are shown of each pipeline."""
_COUNTS = ("parts", "done", "skipped", "failed")
_LEFT_OUT = "left out"
"""Counts parts without a partner. Only where there are some."""
STYLES = {
    "running": "green",
    "waiting": "yellow",
    "failed": "red",
    **dict.fromkeys(("finished", "cancelled", "omitted"), "dim"),
}


def show(access: Access, pipeline: str | None, console: Console, *, everything: bool, as_json: bool) -> None:
    """Asks the cluster, and prints."""
    query = {"labelSelector": f"{NAME}={pipeline}"} if pipeline else {}
    now = datetime.now(UTC)
    found = listing.list_runs(
        access.api.items(pipeline_run.path(pipeline_run.WORKFLOWS, access.namespace), **query), now
    )
    found = [run for run in found if run.pipeline]
    shown = found if everything else newest(found)
    if as_json:
        print(json.dumps([plain(run) for run in shown], indent=2))
        return
    if not found:
        begin = access.command(f"runs start {pipeline or 'PIPELINE'}")
        console.print(f"There is no run; start one with: {begin}")
        return
    console.print(render(shown, now))
    for run in shown:
        for line in reasons(run):
            console.print(Text(line, style="red"))
        for line in empty_joins(run):
            console.print(Text(line, style="yellow"))
    if hidden := len(found) - len(shown):
        console.print(
            Text(f"{number_of(hidden, 'older run')}; list them with: {access.command('runs list --all')}", style="dim")
        )


def newest(runs: Sequence[Run]) -> list[Run]:
    """The newest of each pipeline."""
    counts: dict[str, int] = {}
    found = []
    for run in runs:
        counts[run.pipeline] = counts.get(run.pipeline, 0) + 1
        if counts[run.pipeline] <= _MOST_RUNS:
            found.append(run)
    return found


def plain(run: Run) -> dict[str, Any]:
    """Everything, for programs."""
    stages = [{**asdict(stage), "began": stage.began and stage.began.isoformat()} for stage in run.stages]
    return {**asdict(run), "created": run.created and run.created.isoformat(), "stages": stages}


def render(runs: Sequence[Run], now: datetime) -> RenderableType:
    """The table, in the terminal's width: a line for each stage that has begun."""
    counts = counts_of([stage for run in runs for stage in run.stages])
    rows = [row for run in runs for row in _rows(run, counts, now)]
    headings = ("run", "stage", "state", *counts, "time", "age")
    return table(headings, rows, right=(*counts, "time", "age"), styles=STYLES, least=("age", "parts", "time"))


def counts_of(stages: Sequence[StageRun]) -> tuple[str, ...]:
    """What is counted of the parts of these stages: the headings of `cells`."""
    return (*_COUNTS, _LEFT_OUT) if any(stage.alone for stage in stages) else _COUNTS


def reasons(run: Run) -> Iterator[str]:
    """Why its stages failed, a line each."""
    if run.state == "failed":
        found = [f"{run.name}/{stage.stage}: {stage.why}" for stage in run.stages if stage.why]
        yield from found or ([f"{run.name}: {run.why}"] if run.why else [])


def empty_joins(run: Run) -> Iterator[str]:
    """Which of its stages had nothing to work on because no parts belong together, a line each."""
    yield from (f"{run.name}/{one.stage}: {one.unjoined}" for one in run.stages if one.unjoined and not one.parts)


def _rows(run: Run, counts: Sequence[str], now: datetime) -> Iterator[tuple[str, ...]]:
    if not run.stages:
        yield (run.name, "", run.state, *[NOTHING] * len(counts), _time(run.seconds), age(run.created, now))
    for number, stage in enumerate(run.stages):
        first = number == 0
        yield (run.name if first else "", *cells(stage, counts), age(run.created, now) if first else "")


def cells(stage: StageRun, counts: Sequence[str]) -> tuple[str, ...]:
    """Name, state, these counts of parts, and time of a stage."""
    of = {
        "parts": stage.parts,
        "done": stage.done,
        "skipped": stage.skipped,
        "failed": stage.failed,
        _LEFT_OUT: stage.alone,
    }
    known = [NOTHING if stage.parts is None else str(of[count]) for count in counts]
    return (stage.stage, stage.state, *known, _time(stage.seconds))


def _time(seconds: float | None) -> str:
    return NOTHING if seconds is None else duration(seconds)
