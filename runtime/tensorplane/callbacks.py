"""A Keras callback with which `fit` saves, resumes to the bit, stops at SIGTERM, and reports its progress."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import keras
import numpy as np

from tensorplane import first_step
from tensorplane.checkpoints.checkpointer import Checkpointer
from tensorplane.cluster import Place
from tensorplane.keras import epochs, repair, steps
from tensorplane.keras.fit_state import FitState, LocalMetrics, plain
from tensorplane.log import say
from tensorplane.progress import Progress
from tensorplane.stop import StopRequest, leave
from tensorplane.watchdog import watch_uncaught

_used: set[Path] = set()


class Resume(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Saves while Keras' `fit` trains, and continues an interrupted `fit` where its last checkpoint was.

    It runs after the other callbacks, wherever it is among them. A resumed `fit` ends with the bits of one that was
    never interrupted: weights, optimizer, metrics, random seeds, the state of other callbacks, Keras' History too, and
    the position in the data are restored. At SIGTERM, all workers save after the same step and exit with code 75. With
    the same code and one line they exit if another worker does not answer.
    """

    saves_others = True
    """Read by the repair of Keras, which runs it last."""

    def __init__(
        self,
        folder: Path | str | None = None,
        *,
        every_steps: int | None = None,
        name: str = "",
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`folder`: for checkpoints; default CHECKPOINT_DIR, and without it nothing is saved.

        `every_steps`: steps between checkpoints; default CHECKPOINT_STEPS (`Checkpointer`).
        `name`: of this `fit` in a program that calls several; each needs its own.
        """
        super().__init__()
        base = folder or environment.get("CHECKPOINT_DIR")
        self._folder = Path(base) / name if base else None
        self._every = every_steps
        self._place = Place.current(environment)
        self._place.check_trains()
        self._stopping = StopRequest()
        self._training = ExitStack()
        self.resumed: int | None = None
        """The step from which this `fit` continued; None if it started from the beginning."""
        repair.install()

    def on_train_begin(self, logs: Any = None) -> None:
        first_step.expected()
        watch_uncaught()
        self._iterator = epochs.newest[self.model]
        self._step = self._epoch = self._in_epoch = 0
        self._position = (0, 0)
        self._kept: np.ndarray | None = None
        self._reported: tuple[int, dict[str, float]] | None = None
        self._unreminded = False
        self._exchange = steps.exchange_of(self.model)
        epochs.build(self.model)
        self._metrics = LocalMetrics(self.model)
        self._state = FitState()
        self._checkpoints = Checkpointer(
            self._folder,
            self._place,
            every_steps=self._every,
            model=self.model,
            optimizer=self.model.optimizer,
            fit=self._state,
        )
        self._others = [one for one in repair.callbacks_of(self.model) if one is not self]
        self._initial = [plain(one) for one in self._others]
        if self._folder is not None:
            self._continue(self._folder)
        length = self._iterator.num_batches
        self._progress = Progress(self._place, self._step, length and length * self.params["epochs"])
        # SIGTERM is deferred until the last save is on disk.
        self._training.enter_context(self._stopping.deferred())
        self._training.enter_context(self._exchange.watching(self._stopping))
        self._training.callback(self._checkpoints.close)

    def _continue(self, folder: Path) -> None:
        if folder in _used:
            raise ValueError(
                f"fit: {folder} has the checkpoints of an earlier fit of this program; pass a name to each"
            )
        _used.add(folder)
        self._iterator.batches.check_repeatable()
        self.resumed = self._checkpoints.restore()
        if self.resumed is None:
            return
        at = self._state.at()
        self._step = self.resumed
        self._unreminded = True
        self.model._initial_epoch = self.params["epochs"] if at["finished"] else at["epoch"]
        if not at["finished"]:
            self._position = at["iterators"], at["taken"]
            self._iterator.start_at(at["step_in_epoch"], *self._position)
        self._say(resumed=self.resumed)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch, self._in_epoch = epoch, 0
        if self._unreminded:
            self._remind()
            self._in_epoch = self._state.at()["step_in_epoch"]
            if self._in_epoch:
                self._metrics.write(self._state.metrics.numpy())
        self._began = self._step - self._in_epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        length = self._iterator.num_batches
        self._in_epoch = batch + 1 if length is None else min(batch + 1, length)
        self._step = self._began + self._in_epoch
        # Not asked for later: Keras makes the next epoch's iterator before it validates.
        self._position = self._iterator.position
        first_step.done(self._step)
        # The end of the epoch reports and saves for its last step.
        if self._in_epoch == length:
            return
        if self._progress.due(self._step):
            self._report(logs)
        asked = self._exchange.agreed()
        if asked or self._checkpoints.due(self._step):
            self._save(step_in_epoch=self._in_epoch, position=self._position)
        if asked:
            self._leave()

    def on_test_begin(self, logs: Any = None) -> None:
        # Validation counts with the same metrics.
        self._kept = self._metrics.read()

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        if self._exchange.agreed():
            self._save(step_in_epoch=self._in_epoch, position=self._position)
            self._leave()

    def on_test_end(self, logs: Any = None) -> None:
        self._kept = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._report(logs)
        asked = self._exchange.agreed()
        last = epoch + 1 == self.params["epochs"] or self.model.stop_training
        if not last and (asked or self._checkpoints.due(self._step)):
            self._epoch = epoch + 1
            self._save(step_in_epoch=0, position=self._iterator.next_position)
            if asked:
                self._leave()

    def on_train_end(self, logs: Any = None) -> None:
        if self._unreminded:
            self._remind()
        else:
            self._save(step_in_epoch=0, position=(0, 0), finished=True)
        self.model._initial_epoch = None
        self.close()

    def close(self) -> None:
        """End what the training began. `fit` of Keras does not call `on_train_end` when it fails."""
        self._training.close()

    def _remind(self) -> None:
        self._unreminded = False
        self._state.remind(self._others)

    def _save(self, *, step_in_epoch: int, position: tuple[int, int], finished: bool = False) -> None:
        iterators, taken = position
        self._state.move(
            step=self._step,
            epoch=self._epoch,
            step_in_epoch=step_in_epoch,
            iterators=iterators,
            taken=taken,
            finished=finished,
        )
        self._state.metrics.assign(self._metrics.read() if self._kept is None else self._kept)
        self._state.remember(self._others, self._initial)
        self._checkpoints.save(self._step)

    def _leave(self) -> NoReturn:
        leave(self._step, self._checkpoints.flush, is_chief=self._place.is_chief)

    def _report(self, logs: Any) -> None:
        values = {name: float(value) for name, value in (logs or {}).items() if np.ndim(value) == 0}
        # The end of an epoch adds nothing to its last step, unless it validated.
        if self._reported != (self._step, values):
            self._reported = (self._step, values)
            counted = zip(self._exchange.taken(), self._iterator.batches.taken_since(), strict=True)
            examples, waited = map(sum, counted)
            self._progress.report(self._step, examples_taken=examples, waited_seconds=waited, **values)

    def _say(self, **facts: object) -> None:
        if self._place.is_chief:
            say(**facts)
