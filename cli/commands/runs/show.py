"""One run in the terminal: a line for each stage, what was skipped and why, what it waits for, and its cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.commands.runs.ask import Asker
from tensorplane.cli.commands.runs.tables import STYLES, cells, counts_of, empty_joins, reasons
from tensorplane.cli.output.numbers import NOTHING, spent
from tensorplane.cli.output.tables import table
from tensorplane.cli.pipelines import workflow
from tensorplane.cli.pipelines.details import Details, Stage
from tensorplane.components.base.price import Usd
from tensorplane.core.times import age, duration

_LEAST = ("commit", "parts", "ETA", "cost")
_CENT = Usd(0.01, 0.01)
_COMMIT_DIGITS = 12
"""Characters of a commit."""


def run(access: Access, name: str, console: Console, *, as_json: bool) -> None:
    """Asks the cluster, and prints."""
    now = datetime.now(UTC)
    found = Asker(access).details(name, now)
    if as_json:
        print(json.dumps(found.plain(), indent=2))
    else:
        show(found, access, console, now)


def show(found: Details, access: Access, console: Console, now: datetime) -> None:
    """Prints a run."""
    console.print(Text(summary(found, now), style="bold"), soft_wrap=True)
    if found.stages:
        counts = counts_of([stage.run for stage in found.stages])
        rows = [_row(stage, counts) for stage in found.stages]
        numbers = (*counts, "time", "ETA", "cost")
        headings = ("stage", "state", *numbers, "commit")
        console.print(table(headings, rows, right=numbers, styles=STYLES, least=_LEAST))
    for line in reasons(found.run):
        console.print(Text(line, style="red"))
    for line in empty_joins(found.run):
        console.print(Text(line, style="yellow"))
    for line in remarks(found):
        console.print(Text(line, style="dim"))
    if found.stages:
        look = access.command(f"logs {found.run.name}/{_interesting(found).run.stage}")
        console.print(Text(f"Logs: {look}", style="dim"), soft_wrap=True)


def summary(found: Details, now: datetime) -> str:
    """The run in one line: its state, time, ETA and cost."""
    run, left = found.run, found.eta_seconds
    words = [f"{run.name}: {run.state}"]
    if run.state == "running" and run.seconds is not None:
        words[0] += f" for {duration(run.seconds)}"
    elif run.seconds is not None:
        words += [f"took {duration(run.seconds)}", f"started {age(run.created, now)} ago"]
    words += [f"about {duration(left)} left"] if left else []
    words += [f"{price(found.usd)} {'in all' if run.state in workflow.ENDS else 'so far'}"] if found.usd else []
    return ", ".join(words)


def remarks(found: Details) -> Iterator[str]:
    """What was skipped and why, what waits or was not run and why, and which costs are unknown, a line each."""
    for stage in found.stages:
        run = stage.run
        yield from (f"{run.stage}: skipped {line}" for line in stage.skipped)
        if run.unjoined and run.parts:
            yield f"{run.stage}: {run.unjoined}"
        if run.failed and run.state == "finished":
            yield f"{run.stage}: {_parts(run.failed)} failed, as `mayFail` allows; the version lacks what they make"
        if run.pending:
            yield f"{run.stage}: the pods of {_parts(run.pending)} wait{_for(run.pending_why)}"
        if why := why_not_begun(stage, found):
            yield f"{run.stage}: {why}"
    for reason, stages in found.unpriced:
        yield f"{', '.join(stages)}: cost unknown: {reason}"


def _for(why: str) -> str:
    return f": {why}" if why else " for their queue, their node or their image"


def price(usd: Usd | None) -> str:
    """Dollars, of less than a cent only that."""
    return f"<{spent(_CENT)}" if usd and 0 < usd.high < _CENT.high else spent(usd)


def _parts(number: int) -> str:
    return f"{number} part{'' if number == 1 else 's'}"


def why_not_begun(stage: Stage, found: Details) -> str:
    """Why a stage has not begun; empty if it has."""
    if stage.run.state not in ("waiting", "omitted") or (stage.run.began and stage.run.state == "waiting"):
        return ""
    states = {one.run.stage: one.run.state for one in found.stages}
    before = [name for name in stage.about.after if states.get(name) != "finished"]
    if stage.run.state == "waiting":
        return f"waits for {', '.join(before)}" if before else ""
    if found.run.state == "cancelled":
        return "not run: the run was cancelled"
    return f"not run: {', '.join(f'{name} {states[name]}' for name in before if name in states)}"


def _row(stage: Stage, counts: Sequence[str]) -> tuple[str, ...]:
    left = NOTHING if not stage.eta_seconds else duration(stage.eta_seconds)
    return (*cells(stage.run, counts), left, price(stage.cost.usd), stage.run.commit[:_COMMIT_DIGITS] or NOTHING)


def _interesting(found: Details) -> Stage:
    """The stage whose logs are likely to be wanted: one that failed, else one that runs, else the last that began."""
    for state in ("failed", "running"):
        if stage := next((one for one in found.stages if one.run.state == state), None):
            return stage
    return next((one for one in reversed(found.stages) if one.run.began), found.stages[0])
