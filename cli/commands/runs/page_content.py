"""What the page of runs shows: the stages as a picture, and the details of one as labels and texts. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tensorplane.cli.commands.runs.show import price, why_not_begun
from tensorplane.cli.output import dag
from tensorplane.cli.output.dag import MARGIN, Box
from tensorplane.cli.pipelines.details import Details, Stage
from tensorplane.core.times import duration

Property = tuple[str, str]
"""Label and text."""


def stage_details(stage: Stage, found: Details, logs: str) -> list[Property]:
    """Everything of a stage. `logs`: the command that prints its logs."""
    return [(label, text) for label, text in (*_progress(stage, found), *_program(stage), ("Logs", logs)) if text]


def _progress(stage: Stage, found: Details) -> Iterator[Property]:
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


def _program(stage: Stage) -> Iterator[Property]:
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


_COLORS = {
    "running": ("#dbeafe", "#1d4ed8"),
    "finished": ("#e6f4ea", "#1a7f37"),
    "failed": ("#ffebe9", "#cf222e"),
    "cancelled": ("#fff8c5", "#9a6700"),
}
_PALE = ("#f6f8fa", "#8c959f")
"""Of a stage that has not begun."""


def picture_of(found: Details, *, chosen: str = "") -> str:
    """The picture. Each stage is a button; `chosen` is pressed."""
    boxes = [_box(stage, is_chosen=stage.run.stage == chosen) for stage in found.stages]
    drawn = dag.draw(boxes, top=MARGIN)
    return dag.document(f"The stages of {found.run.name}", drawn.lines, drawn.width, drawn.height + 2 * MARGIN)


def _box(stage: Stage, *, is_chosen: bool) -> Box:
    run, lines = stage.run, list(_lines(stage))
    return Box(
        run.stage,
        lines,
        stage.about.after,
        _COLORS.get(run.state, _PALE),
        dashed=run.state == "omitted",
        attributes={
            "class": "stage",
            "data-stage": run.stage,
            "role": "button",
            "tabindex": "0",
            "aria-pressed": str(is_chosen).lower(),
            "aria-label": f"{run.stage}: {', '.join(lines)}",
        },
    )


def _lines(stage: Stage) -> Iterator[str]:
    run = stage.run
    how_long = "" if run.seconds is None else f" {'for' if run.state == 'running' else 'in'} {duration(run.seconds)}"
    left = f", {duration(stage.eta_seconds)} left" if stage.eta_seconds and run.state == "running" else ""
    yield f"{run.state}{how_long}{left}"
    counts = {"done": run.done, "running": run.running, "skipped": run.skipped, "failed": run.failed}
    shown = [f"{number} {word}" for word, number in counts.items() if number]
    yield ", ".join(shown) or ("no part yet" if run.parts is None else "no part")
    if stage.cost.usd:
        yield price(stage.cost.usd)
