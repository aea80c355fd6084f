"""The results of a sweep, as its controller keeps them: a table of its trials and a plot of their values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.output import plots
from tensorplane.cli.output.numbers import NOTHING
from tensorplane.cli.output.tables import table
from tensorplane.components.base.labels import COMPONENT, NAME
from tensorplane.components.base.plural import number_of
from tensorplane.core.errors import UserError
from tensorplane.stack_file.nearest import did_you_mean
from tensorplane.workloads.sweep.controller_objects import RESULTS, RESULTS_SUFFIX

_KEY = "results.json"
_STATES = ("complete", "open", "pruned", "failed")
"""In the order of the table."""
_STYLES = {"open": "green", "failed": "red", "pruned": "dim"}
_HEIGHT, _MOST_TICKS, _LEAST_POINTS = 12, 10, 3


@dataclass(frozen=True)
class Trial:
    """One trial, as the controller describes it."""

    number: int
    run: str
    state: str
    parameters: Mapping[str, Any]
    best: float | None
    steps: int | None


@dataclass(frozen=True)
class Results:
    """A sweep so far."""

    run: str
    metric: str
    maximize: bool
    planned: int
    trials: Sequence[Trial]
    finished: bool = False
    """Whether all trials have ended."""

    @property
    def ranked(self) -> list[Trial]:
        """The best of each state first."""
        sign = -1 if self.maximize else 1
        return sorted(
            self.trials,
            key=lambda one: (_STATES.index(one.state), one.best is None, sign * (one.best or 0), one.number),
        )

    @property
    def best(self) -> Trial | None:
        """The best trial that has ended by itself."""
        return next((one for one in self.ranked if one.state == "complete" and one.best is not None), None)


def run(access: Access, sweep: str, console: Console, *, as_json: bool) -> None:
    """Asks the cluster, and prints. A UserError if there is no such sweep, or if it has no trial yet."""
    text = text_of(access, get_results(access, sweep))
    if as_json:
        print(text)
    else:
        show(read(json.loads(text)), console)


def text_of(access: Access, found: Object) -> str:
    """What the controller has written into the ConfigMap, as JSON. A UserError if that is nothing yet."""
    if text := written(found):
        return text
    name = found["metadata"]["name"].removesuffix(RESULTS_SUFFIX)
    raise UserError(f"{name}: its controller has not started a trial yet; see: {_about(access, name)}")


def _about(access: Access, run: str) -> str:
    """The command that tells what a controller does."""
    return access.command(f"why {run}" if access.team else "status")


def written(found: Object) -> str:
    """The same; empty if it has written nothing yet."""
    return str((found.get("data") or {}).get(_KEY, ""))


def get_results(access: Access, sweep: str) -> Object:
    """The ConfigMap with the results of a sweep, by its name or its run; of several runs the newest."""
    inside = f"/api/v1/namespaces/{access.namespace}/configmaps"
    found = access.api.items(inside, labelSelector=f"{COMPONENT}={RESULTS}")
    for one in sorted(found, key=lambda one: str(one["metadata"]["creationTimestamp"]), reverse=True):
        if sweep in (one["metadata"]["name"].removesuffix(RESULTS_SUFFIX), one["metadata"]["labels"][NAME]):
            return one
    names = sorted(one["metadata"]["labels"][NAME] for one in found)
    raise UserError(f"{sweep}: no such sweep; there are {', '.join(names) or 'none'}{did_you_mean(sweep, names)}")


def read(plain: Mapping[str, Any]) -> Results:
    """What the controller has written."""
    trials = [
        Trial(one["trial"], one["run"], one["state"], one["parameters"], one["best"], one["steps"])
        for one in plain["trials"]
    ]
    return Results(
        plain["run"], plain["metric"], plain["direction"] == "maximize", plain["planned"], trials, plain["finished"]
    )


def show(found: Results, console: Console) -> None:
    """The results, in the terminal's width."""
    counts = {state: sum(one.state == state for one in found.trials) for state in _STATES}
    how = ", ".join(f"{count} {state}" for state, count in counts.items() if count and state != "open")
    open_, ended = counts["open"], len(found.trials) - counts["open"]
    more = f"; {open_} open" if open_ else ""
    console.print(Text(f"{found.run}: {ended} of {number_of(found.planned, 'trial')} ended{how and f': {how}'}{more}"))
    if not found.trials:
        return
    console.print("", _table(found))
    for line in plot(found, console.width):
        console.print(Text(line.rstrip(), no_wrap=True, overflow="crop"))
    if best := found.best:
        console.print(Text(f"best: {best.run}, {found.metric} {best.best:.5g}: {values(best)}", style="bold"))


def values(trial: Trial) -> str:
    """The parameters of a trial, in a line."""
    return " ".join(f"{name}={_short(value)}" for name, value in trial.parameters.items())


def _table(found: Results) -> RenderableType:
    rows, names = found.ranked, sorted({name for one in found.trials for name in one.parameters})
    columns: dict[str, list[str]] = {
        "trial": [str(one.number) for one in rows],
        "state": [one.state for one in rows],
        found.metric: [NOTHING if one.best is None else f"{one.best:.5g}" for one in rows],
        "steps": [NOTHING if one.steps is None else f"{one.steps:,}" for one in rows],
        **{name: [_short(one.parameters.get(name)) for one in rows] for name in names},
    }
    numbers = [name for name in names if isinstance(rows[0].parameters.get(name), int | float)]
    return table(
        tuple(columns),
        list(zip(*columns.values(), strict=True)),
        right=["trial", found.metric, "steps", *numbers],
        unwrapped=("state",),
        styles=_STYLES,
    )


def _short(value: Any) -> str:
    return NOTHING if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def plot(found: Results, width: int) -> list[str]:
    """The value of each trial by its number, and the best so far; empty with few trials."""
    ended = [(one.number, one.best) for one in found.trials if one.best is not None]
    if len(ended) < _LEAST_POINTS:
        return []
    better = max if found.maximize else min
    best = [better(value for _, value in ended[: count + 1]) for count in range(len(ended))]
    numbers = [number for number, _ in ended]

    def draw(plot: Any) -> None:
        plot.scatter(numbers, [value for _, value in ended], marker="x", label=found.metric)
        plot.plot(numbers, best, marker="braille", label="best so far")
        plot.xticks(numbers[:: -(-len(numbers) // _MOST_TICKS)])
        plot.xlabel("trial")

    return ["", *plots.lines(width, _HEIGHT, draw), ""]
