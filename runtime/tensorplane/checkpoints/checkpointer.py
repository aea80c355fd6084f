"""Checkpoints with bit-exact resume: model, optimizer and step, written by the chief, read by every worker."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tensorflow as tf

from tensorplane import lineage, metrics
from tensorplane.checkpoints import interval
from tensorplane.checkpoints.agreement import Agreement
from tensorplane.checkpoints.files import CheckpointFiles
from tensorplane.checkpoints.host_copy import HostCopy
from tensorplane.checkpoints.interval import MeasuredInterval
from tensorplane.checkpoints.run_folder import RUN
from tensorplane.cluster import Place
from tensorplane.errors import TensorplaneError, UsageError
from tensorplane.keras import seed_generators
from tensorplane.log import say
from tensorplane.parameter_server.servers import is_parameter_server

FOLDER, STEPS = "CHECKPOINT_DIR", "CHECKPOINT_STEPS"
"""Variables with the run's folder and `checkpoints.everySteps`, set in pods."""
_EVERY_STEPS = 100
"""Where neither the program nor the settings say."""
_NO_STEP = -1
_NEVER = 1 << 62
_SEEDS = "seeds"


class Checkpointer:
    """Saves and restores one training run's state in a folder that all workers see.

    A checkpoint is whole or absent, and one that cannot be read is never loaded: the one before is. A save copies the
    values to host memory; a thread of the chief writes them while training goes on. All workers must call `restore`
    and `save` at the same step.
    """

    def __init__(
        self,
        folder: Path | None = None,
        place: Place | None = None,
        *,
        every_steps: int | None = None,
        interruption_minutes: float | None = None,
        keep: int = 3,
        asynchronous: bool = True,
        saved: Callable[[], None] | None = None,
        **state: Any,
    ) -> None:
        """`state` is what a checkpoint contains: model, optimizer, step, any trackable object, by names of your choice.

        The seeds of Keras models in it, such as those of Dropout, are added as `seeds`, unless you pass your own.

        - `folder`: by default CHECKPOINT_DIR. If that is not set either, nothing is saved.
        - `place`: by default this process's in TF_CONFIG.
        - `every_steps`: by default `checkpoints.everySteps` of the settings, which is in CHECKPOINT_STEPS, else 100.
        - `interruption_minutes`: instead of `every_steps`, the mean time between two interruptions of the training. The
          interval is then computed from it and from what steps and saves were measured to take (`interval.py`). By
          default `checkpoints.interruptionMinutes` of the settings.
        - `keep`: how many checkpoints stay, the newest.
        - `asynchronous`: False makes `save` wait until the checkpoint is on disk.
        - `saved` is called by the chief after each save, for actions that require a safe state. `save` then waits too,
          so that the state is still the saved one.
        """
        self._place = place or Place.current()
        found = folder or (Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else None)
        self._files = CheckpointFiles(found) if found else None
        self._every, self._measured = _schedule(every_steps, interruption_minutes)
        self._keep, self._saved = keep, saved
        self._asynchronous = asynchronous and not saved
        self._state, self._seeds = state, _seeds(state)
        self._checkpoint = tf.train.Checkpoint(**state, **self._seeds)
        self._agreement = Agreement(self._checkpoint, self._place.workers)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._writing: Future[None] | None = None
        self._last, self._next = 0, self._every
        if self._place.is_chief:
            if self._files:
                self._files.create(_folder_of_run())
            else:
                print(
                    f"tensorplane: {FOLDER} is not set, so this run saves no checkpoints; "
                    "set checkpoints in the job's settings, or pass folder",
                    flush=True,
                )

    def restore(self) -> int | None:
        """Restores the newest checkpoint that all workers can read, and returns its step; None if there is none.

        Raises OtherModel if objects have no counterpart in the checkpoint, or the reverse: the program has changed.
        """
        if (files := self._files) is None or (step := self._newest_readable(files)) is None:
            return None
        prefix = str(files.prefix(step))
        checkpoint = self._checkpoint
        if self._seeds and not _has_seeds(prefix):
            # Of an earlier version of the library.
            checkpoint = tf.train.Checkpoint(**self._state)
        status = None
        try:
            status = checkpoint.restore(prefix)
            status.assert_consumed()
        except (AssertionError, ValueError) as error:
            if status:
                # TensorFlow would list them all as the program ends, after the reason.
                status.expect_partial()
            raise OtherModel(
                f"{prefix}: the checkpoint is of another model or optimizer than the program's "
                f"({str(error).splitlines()[0][:200]}); "
                "restore the former program, or set attempt in the job's settings to train from the beginning; "
                "to read the weights of a model alone, use tensorplane.follow"
            ) from error
        self._last, self._next = step, self._after(step)
        return step

    def due(self, step: int) -> bool:
        """Whether `step` should be saved. All workers get the same answer for the same step. Ask after every step."""
        if self._measured:
            self._measured.reached(step, writing=bool(self._writing and not self._writing.done()))
        return self._files is not None and step >= self._next

    @property
    def last(self) -> int:
        """The step that was saved or restored last; 0 at first."""
        return self._last

    @property
    def next_due(self) -> int:
        """The step after the last save at which `due` becomes true."""
        return self._next

    def ask_after(self, step: int) -> int:
        """The next step at which to ask `due`, for a loop that runs many steps at once.

        With a measured interval, it is asked once in between, so that steps without a save are measured too. Never
        without a folder.
        """
        if self._files is None:
            return _NEVER
        return step + max(1, (self._next - step) // 2) if self._measured and step == self._last else self._next

    def save(self, step: int) -> None:
        """Saves the state of `step`: copies it now, writes it on a thread. Raises the former write's error, if any."""
        if self._measured:
            self._measured.save_begins(step)
        if self._files is not None:
            with metrics.CHECKPOINT_SECONDS.timed():
                self._save(self._files, step)
        self._last, self._next = step, self._after(step)

    def _save(self, files: CheckpointFiles, step: int) -> None:
        self.flush()
        copied = HostCopy.of(self._checkpoint)
        if not self._place.is_chief:
            if copied is None:
                self._take_part()
        elif copied is None:
            self._put(files, step, self._write_at_once)
        else:
            self._writing = self._writer.submit(self._put, files, step, copied.write)
            if not self._asynchronous:
                self.flush()
        if self._saved and self._place.is_chief:
            self._saved()

    def _after(self, step: int) -> int:
        """The step of the next save after this one."""
        if self._measured is None or self._files is None:
            return step - step % self._every + self._every
        # Each worker measures; all act by what the chief measured.
        return step + int(self._agreement.gather(self._measured.steps())[0])

    @property
    def tracked(self) -> tf.train.Checkpoint:
        """The object that has all that a checkpoint has."""
        return self._checkpoint

    def flush(self) -> None:
        """Waits until the last save is on disk. Raises its error, if any; TakenOver if another gang writes now."""
        if self._writing:
            writing, self._writing = self._writing, None
            writing.result()

    def close(self) -> None:
        """Flushes and ends the thread."""
        try:
            self.flush()
        finally:
            self._writer.shutdown()

    def _put(self, files: CheckpointFiles, step: int, write: Callable[[Path], None]) -> None:
        files.put(step, write)
        files.keep(self._keep, before=step)
        lineage.note(checkpoint=step)
        say(saved=step)

    def _write_at_once(self, prefix: Path) -> None:
        self._checkpoint.write(str(prefix))

    def _take_part(self) -> None:
        """Reads what the chief reads: some variables are collective operations."""
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as scratch:
            self._write_at_once(Path(scratch) / "ckpt")

    def _newest_readable(self, files: CheckpointFiles) -> int | None:
        """The newest step that every worker can read. A worker whose file system shows less holds the others back."""
        mine = _newest_up_to(None, files)
        while (least := min(steps := self._agreement.gather(mine))) < max(steps):
            if least == _NO_STEP:
                raise UnreadableCheckpoints(
                    f"{files.folder}: some workers find no checkpoint, others that of step {max(steps):.0f}; "
                    "use a volume that all workers mount"
                )
            mine = _newest_up_to(int(least), files)
        return None if mine == _NO_STEP else mine


def _folder_of_run() -> Path | None:
    """The folder that the launcher has created for this run; None outside a job with `checkpoints`."""
    return Path(os.environ[FOLDER]) if os.environ.get(RUN) and os.environ.get(FOLDER) else None


def _seeds(state: dict[str, Any]) -> dict[str, list[Any]]:
    """The seeds to save with this state. None of asynchronous workers, which draw from them in any order."""
    models = seed_generators.models_among(state.values())
    if not models or _SEEDS in state or is_parameter_server(models[0].distribute_strategy):
        return {}
    return {_SEEDS: seed_generators.states_of(*models)}


def _has_seeds(prefix: str) -> bool:
    return any(name.startswith(f"{_SEEDS}/") for name, _ in tf.train.list_variables(prefix))


def _schedule(steps: int | None, minutes: float | None) -> tuple[int, MeasuredInterval | None]:
    """Steps between saves, and what computes them if the mean time between interruptions is known instead."""
    if steps and minutes:
        raise UsageError("every_steps and interruption_minutes exclude each other; remove one of them")
    if not steps and not minutes:
        steps = int(os.environ.get(STEPS) or 0)
        minutes = None if steps else float(os.environ.get(interval.VARIABLE) or 0)
    if minutes:
        measured = interval.MeasuredInterval(minutes * 60)
        return measured.steps(), measured
    return steps or _EVERY_STEPS, None


def _newest_up_to(most: int | None, files: CheckpointFiles) -> int:
    steps = [step for step in files.steps() if most is None or step <= most]
    for step in steps:
        if not (fault := files.load_error(step)):
            return step
        print(f"tensorplane: checkpoint {files.prefix(step)} is not used, because it is damaged: {fault}", flush=True)
    if steps:
        raise UnreadableCheckpoints(
            f"{files.folder}: no checkpoint can be read; restore the volume from a snapshot, "
            "or delete the checkpoints to train from the beginning"
        )
    return _NO_STEP


class UnreadableCheckpoints(TensorplaneError, RuntimeError):
    """There are checkpoints, but not one that all workers can read. To begin again would silently lose the run."""


class OtherModel(TensorplaneError, RuntimeError):
    """The checkpoint has other variables than the program."""


class Checkpoints(Checkpointer):
    """`Checkpointer` as programs of earlier versions use it: `save` waits, and `restore` answers whether it did."""

    def __init__(
        self, folder: Path, place: Place, *, keep: int = 3, saved: Callable[[], None] | None = None, **state: Any
    ) -> None:
        super().__init__(folder, place, keep=keep, asynchronous=False, saved=saved, **state)

    def restore(self) -> bool:
        """Restores the newest checkpoint. False if there is none."""
        return super().restore() is not None
