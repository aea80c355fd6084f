"""What a person reads of one stage of a run, as labels and texts. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cli.commands.runs.show import price, why_not_begun
from cli.output.times import duration
from cli.pipelines.details import Details, Stage

Fact = tuple[str, str]
"""Label and text."""


def of(stage: Stage, found: Details, logs: str) -> list[Fact]:
    """Everything of a stage. `logs`: the command that prints its logs."""
    return [(label, text) for label, text in (*_progress(stage, found), *_program(stage), ("Logs", logs)) if text]


def _progress(stage: Stage, found: Details) -> Iterator[Fact]:
    run = stage.run
    yield "State", run.state
    yield "Why", run.why or why_not_begun(stage, found)
    if run.parts is not None:
        counts = {"done": run.done, "running": run.running, "skipped": run.skipped, "failed": run.failed}
        shown = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
        yield "Parts", f"{run.parts}{f': {shown}' if shown else ''}"
    yield "Skipped", "\n".join(stage.skipped)
    yield "Left out", run.unjoined
    if run.pending:
        yield "Waiting", f"{run.pending} of its pods: for their queue, their node or their image"
    yield "Began", f"{run.began:%Y-%m-%d %H:%M:%S} UTC" if run.began else ""
    yield "Time", "" if run.seconds is None else duration(run.seconds)
    yield "ETA", duration(stage.eta_seconds) if stage.eta_seconds else ""
    unknown = f"unknown: {stage.cost.missing}" if stage.cost.missing else ""
    yield "Cost", price(stage.cost.usd) if stage.cost.usd else unknown


def _program(stage: Stage) -> Iterator[Fact]:
    about = stage.about
    yield "Image", about.image
    yield "Command", shlex.join(about.command)
    yield "Publishes to", about.publishes_to
    yield "Asks", about.asks
    yield "Parameters", "\n".join(f"{name}={value}" for name, value in sorted(about.params.items()))
    inputs = [
        f"{one.path}: {one.dataset}{f'@{one.commit[:12]}' if one.commit else ''}, {_split(one.split)}"
        for _, one in sorted(about.inputs.items())
    ]
    yield "Inputs", "\n".join(inputs)
    made = f"@{stage.run.commit[:12]}" if stage.run.commit else ": no version yet"
    yield "Output", f"{about.output}{made}" if about.output else ""


def _split(how: str) -> str:
    return "as a whole" if how == "whole" else f"split by {how}"
