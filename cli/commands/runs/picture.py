"""The stages of a run as a picture, by state. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from cli.commands.runs.show import price
from cli.output import dag
from cli.output.dag import MARGIN, Box
from cli.output.times import duration
from cli.pipelines.details import Details, Stage

_COLORS = {
    "running": ("#dbeafe", "#1d4ed8"),
    "finished": ("#e6f4ea", "#1a7f37"),
    "failed": ("#ffebe9", "#cf222e"),
    "cancelled": ("#fff8c5", "#9a6700"),
}
_PALE = ("#f6f8fa", "#8c959f")
"""Of a stage that has not begun."""


def svg(found: Details, *, chosen: str = "") -> str:
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
