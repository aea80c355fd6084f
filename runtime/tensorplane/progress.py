"""Reports the progress of training: a line of the log, metrics for Prometheus, scalars for TensorBoard."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import tensorflow as tf

from tensorplane import lineage, metrics
from tensorplane.checkpoints.run_folder import RunFolder
from tensorplane.cluster import Place
from tensorplane.log import Pace, say
from tensorplane.progress_deadline import UnchangedLoss

TENSORBOARD = "TENSORBOARD_DIR"
"""Variable with the folder for TensorBoard's event files; not set, none are written."""
_MOST_STEPS = 10**12
EVERY_SECONDS = 2.0
"""Shortest time between two lines, for loops that ask `due`."""
RUNGS = "TENSORPLANE_RUNGS"
"""Variable of a sweep's trials: the first step at which trials are compared, and the factor to the next, as `100:3`."""
_SCALAR = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"), data_class=1
)


class Progress:
    """Reports steps of one process. The chief writes lines and scalars; every worker has metrics."""

    def __init__(
        self,
        place: Place,
        step: int,
        steps: int | None = None,
        *,
        examples_per_step: int | None = None,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`step`: completed steps of the run. `steps`: of the whole run, if known. `examples_per_step`: global."""
        self._place, self._step, self._steps, self._examples = place, step, steps, examples_per_step
        self._pace, self._clock = Pace(step, steps, clock), clock
        self._rungs = _rungs(environment.get(RUNGS, ""), steps)
        self._same_loss = UnchangedLoss(environment, clock)
        metrics.serve(environment)
        metrics.STEP.set(step)
        if run := environment.get("CHECKPOINT_DIR"):
            metrics.RESTARTS.set(RunFolder(Path(run)).restarts)
        folder = environment.get(TENSORBOARD) if place.is_chief else None
        self._scalars = Scalars(Path(folder)) if folder else None

    def due(self, step: int) -> bool:
        """Whether to report this step: the first, the last, those at which trials are compared, and others every two
        seconds."""
        return step == self._steps or step in self._rungs or self._pace.first or self._pace.seconds >= EVERY_SECONDS

    def report(self, step: int, *, waited_seconds: float = 0.0, examples_taken: float = 0.0, **scalars: float) -> None:
        """Reports all steps up to `step`, with the loss and other scalars of the last one.

        `waited_seconds`: time since the last report in which steps waited for input. `examples_taken`: of all workers
        since then, where `examples_per_step` does not say.
        """
        seconds, count = self._pace.seconds, step - self._step
        facts = self._pace.report(step)
        self._step = step
        lineage.note(steps=step, metrics=scalars)
        metrics.STEPS.add(count)
        metrics.STEP.set(step)
        metrics.STEP_SECONDS.observe(seconds, count)
        metrics.INPUT_WAIT_SECONDS.add(waited_seconds)
        if "loss" in scalars:
            metrics.LOSS.set(scalars["loss"])
        rate = count / max(seconds, 1e-9)
        if examples := examples_taken or count * (self._examples or 0):
            metrics.EXAMPLES_PER_SECOND.set(examples / max(seconds, 1e-9))
        if self._place.is_chief:
            say(step=step, **{name: f"{value:.6f}" for name, value in scalars.items()}, **facts)
        if self._scalars:
            self._scalars.write(step, {**scalars, "steps_per_second": rate})
        if "loss" in scalars and self._same_loss.lasts(scalars["loss"]):
            self._same_loss.end(step, scalars["loss"])


def _rungs(text: str, steps: int | None) -> frozenset[int]:
    """The steps at which trials of a sweep are compared."""
    if not text:
        return frozenset()
    first, factor = map(int, text.split(":"))
    found = [first]
    while found[-1] < (steps or _MOST_STEPS):
        found.append(found[-1] * factor)
    return frozenset(found)


class Scalars:
    """Scalars in TensorBoard's event files. It does not require the package `tensorboard`."""

    def __init__(self, folder: Path) -> None:
        self._writer = tf.summary.create_file_writer(str(folder))

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """Writes the scalars of one step."""
        with self._writer.as_default(step=step):
            for name, value in scalars.items():
                tf.summary.write(name, tf.constant(value, tf.float32), metadata=_SCALAR)
        self._writer.flush()
