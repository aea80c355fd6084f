"""Training jobs as a table for the terminal, and as plain values for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from rich.console import RenderableType

from tensorplane.cli.output.numbers import NOTHING, ordinal, spent
from tensorplane.cli.output.tables import table
from tensorplane.cli.training_jobs.listing import Job
from tensorplane.cli.training_jobs.progress import Progress
from tensorplane.core.times import age, duration

_LEAST = (
    "restarts",
    "pods",
    "GPU-hours",
    "namespace",
    "steps/s",
    "cost",
    "loss",
    "GPUs",
    "age",
    "ETA",
    "where",
)
"""Columns that a narrow terminal leaves out, the least important first."""
_STYLES = {
    "running": "green",
    **dict.fromkeys(("waiting", "starting", "stopping"), "yellow"),
    "failed": "red",
    **dict.fromkeys(("finished", "cancelled"), "dim"),
}


@dataclass(frozen=True)
class Row:
    """A job, its position in Kueue's order and the number of jobs that wait there, and its progress."""

    job: Job
    position: tuple[int, int] | None
    progress: Progress

    def plain(self) -> dict[str, Any]:
        """Everything, for programs."""
        times = {
            key: then and then.isoformat() for key, then in (("created", self.job.created), ("ended", self.job.ended))
        }
        return {**asdict(self.job), **times, "place": self.position and self.position[0], **asdict(self.progress)}


def render(rows: Sequence[Row], now: datetime) -> RenderableType:
    """The table, in the terminal's width."""
    columns: dict[str, list[str]] = {
        "job": [row.job.run for row in rows],
        "state": [row.job.state for row in rows],
        "where": [_location(row) for row in rows],
        "step": [_step(row.progress) for row in rows],
        "loss": [NOTHING if row.progress.loss is None else f"{row.progress.loss:.4g}" for row in rows],
        "steps/s": [_rate(row.progress.steps_per_second) for row in rows],
        "ETA": [NOTHING if row.progress.eta_seconds is None else duration(row.progress.eta_seconds) for row in rows],
        "pods": [str(row.job.pods) for row in rows],
        "GPUs": [str(row.job.gpus) if row.job.gpus else NOTHING for row in rows],
        "GPU-hours": [f"{row.job.gpu_hours:.1f}" if row.job.gpus else NOTHING for row in rows],
        "cost": [spent(row.job.usd) for row in rows],
        "restarts": [str(row.job.restarts) if row.job.restarts else NOTHING for row in rows],
        "age": [age(row.job.created, now) for row in rows],
        "namespace": [row.job.namespace for row in rows],
    }
    filled = {name: cells for name, cells in columns.items() if _says_something(name, cells)}
    right = [name for name in filled if name not in ("job", "state", "where", "namespace")]
    # Without their namespaces, runs of the same name look the same.
    needed = {"namespace"} if len(set(columns["job"])) < len(rows) else set[str]()
    return table(
        tuple(filled),
        list(zip(*filled.values(), strict=True)),
        right=right,
        unwrapped=("job", "state", "step", "cost", "ETA", "age"),
        styles=_STYLES,
        least=[name for name in _LEAST if name not in needed],
    )


def _says_something(name: str, cells: Sequence[str]) -> bool:
    """A column of dashes is left out; one namespace is that of all."""
    return len(set(cells)) > 1 if name == "namespace" else set(cells) != {NOTHING}


def _location(row: Row) -> str:
    """Its flavors, or its position in the queue."""
    job = row.job
    if job.ended:
        return NOTHING
    if job.state == "waiting":
        if not row.position:
            return f"queue {job.queue}" if job.queue else NOTHING
        position, of = row.position
        return f"{ordinal(position)} of {of} in {job.queue}"
    return ", ".join(job.flavors) or NOTHING


def _step(progress: Progress) -> str:
    if progress.step is None:
        return NOTHING
    return f"{progress.step:,}/{progress.steps:,}" if progress.steps else f"{progress.step:,}"


def _rate(steps_per_second: float | None) -> str:
    return NOTHING if steps_per_second is None else f"{steps_per_second:,.1f}"
