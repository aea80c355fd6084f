"""A Keras callback with which `fit` saves, resumes to the bit, stops at SIGTERM, and reports its progress."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import keras
import numpy as np
import tensorflow as tf

from tensorplane import step_record
from tensorplane.checkpoints.checkpointer import Checkpointer
from tensorplane.checkpoints.files import CheckpointFiles
from tensorplane.cluster import Place
from tensorplane.errors import UsageError
from tensorplane.keras import building, captured, epochs, first_batch, other_readers, repair, repeatable, scope, steps
from tensorplane.keras.callback_files import CsvFiles
from tensorplane.keras.fit_state import CallbackStates, FitState, LocalMetrics
from tensorplane.keras.optimizers import optimizers_of
from tensorplane.keras.replicas import several
from tensorplane.keras.self_check import in_one_process
from tensorplane.log import say, warn
from tensorplane.progress import Progress
from tensorplane.stop import StopRequest, exit_when_saved
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
    validation_data: Any = None
    validation_steps: int | None = None
    """Those of the `fit`, where the caller knows them."""

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
        self._training, self._reads = ExitStack(), ExitStack()
        self.resumed: int | None = None
        """The step from which this `fit` continued; None if it started from the beginning."""
        repair.install()

    def belong_to(self, callbacks: Sequence[Any]) -> None:
        """Called before training begins, with all its callbacks. They may evaluate or predict when it begins."""
        epochs.check_resumes(self.model.distribute_strategy)
        self._callbacks = [one for one in callbacks if one is not self]
        self._iterator: Any = epochs.newest.get(self.model)
        resumes = self._folder is not None and bool(CheckpointFiles(self._folder).steps())
        self._csv_files = CsvFiles(self._callbacks if resumes else [])

    def on_train_begin(self, logs: Any = None) -> None:
        self._csv_files.opened()
        step_record.expected()
        watch_uncaught()
        self._reset()
        self._exchange = steps.exchange_of(self.model)
        building.build(self.model, self._iterator)
        scope.check_metrics(self.model)
        self._metrics = LocalMetrics(self.model)
        self._checkpoints, self._state = self._checkpointer()
        read = (self._iterator.batches.dataset, self._validated_data)
        self._callback_states = CallbackStates(
            self._callbacks, self.model, python_data=any(map(repeatable.runs_python, read))
        )
        self._captured = captured.of(self.model)
        self._captured.resumes = self._folder is not None
        self._captured.saved = captured.handles(self._checkpoints.tracked, *self._metrics.variables)
        if self._folder is not None:
            self._continue(self._folder)
        self._iterator.batches.trains = True
        if self._folder is not None:
            self._reads.enter_context(other_readers.report_other_readers(self._iterator.batches.dataset))
        if several(self.model.distribute_strategy) and (self.resumed is None or first_batch.has_own_step(self.model)):
            self._exchange.check = self._compare
        length = self._iterator.num_batches
        self._progress = Progress(self._place, self._step, length and length * self.params["epochs"])
        # SIGTERM is deferred until the last save is on disk.
        self._training.enter_context(self._stopping.deferred())
        self._training.enter_context(self._exchange.watching(self._stopping))
        self._training.callback(self._checkpoints.close)

    def _reset(self) -> None:
        """What this `fit` counts, from the beginning."""
        self._step = self._epoch = self._in_epoch = 0
        self._position = epochs.Position()
        self._validations = self._unread_validations = 0
        self._before: _BeforeValidation | None = None
        self._last_logs: Any = None
        self._reported: tuple[int, dict[str, float]] | None = None
        self._begun = self._finished = self._told = self._unvalidated = self._advanced = False
        self._in_training = True

    def _checkpointer(self) -> tuple[Checkpointer, FitState]:
        # Each worker has its own, also where `fit` is called in the strategy's scope.
        state = in_one_process(FitState)
        model = self.model
        saved = {"model": model, "optimizer": model.optimizer, "fit": state}
        return Checkpointer(self._folder, self._place, every_steps=self._every, **saved), state

    def _compare(self, samples: Any) -> None:
        """Compares a step with one process, once for what `compile` got."""
        compiled = self.model.optimizer, self.model._compile_loss
        if self._exchange.compared != compiled:
            self._exchange.compared = compiled
            counted = self._metrics.read()
            # A run that began with an earlier version goes on, whatever it computes.
            validates = self.validation_data is not None
            first_batch.check(self.model, samples, refuse=self.resumed is None, validates=validates)
            self._metrics.write(counted)

    def _continue(self, folder: Path) -> None:
        if folder in _used:
            raise UsageError(
                f"fit: {folder} has the checkpoints of an earlier fit of this program; pass a name to each"
            )
        _used.add(folder)
        self._iterator.batches.check_repeatable()
        if repeatable.endless_shuffles(self._validated_data):
            warn(
                "validation_data: is shuffled and endless, so validations after a restart may read other samples; "
                "pass data that end"
            )
        self._tell_of_caches()
        self.resumed = self._checkpoints.restore()
        if self.resumed is None:
            return
        at = self._state.at()
        self._step, self._epoch = self.resumed, at["epoch"]
        self._begun, self._finished = at["step_in_epoch"] > 0, bool(at["finished"])
        if self._finished:
            self._tell_of_epochs(at["epochs"])
        # Now, as an epoch that has not begun begins with what they had at the end of the one before.
        self._callback_states.remind(self._state.remembered())
        if values := self._state.captured():
            self._give_captured(values)
        self.model._initial_epoch = self.params["epochs"] if self._finished else self._epoch
        self._csv_files.end_before(self.model._initial_epoch)
        self._advance_validation(at["validations"], at["unread_validations"])
        self._position = epochs.Position(at["iterators"], at["taken"], at["unread"])
        self.model.stop_training = stopped = bool(at["stopped"])
        self._iterator.start_at(at["step_in_epoch"], self._position, finished=self._finished, stopped=stopped)
        self._iterator.last_logs = self._last_logs = self._state.logs()
        epochs.resumed[self.model] = self._iterator
        self._say(resumed=self.resumed)

    def _tell_of_epochs(self, before: int) -> None:
        # None of an earlier version's checkpoint is known.
        if before not in (0, asked := self.params["epochs"]):
            warn(
                f"fit: it has finished with epochs={before}, so epochs={asked} trains nothing; "
                "pass another name or folder to train anew"
            )

    def _give_captured(self, values: list[Any]) -> None:
        """Gives variables that the train step captures their values: a trace tells which they are."""
        try:
            building.trace(self.model, self._iterator, self._captured.trace)
        except Exception as error:  # the step itself may be traced with other sizes
            line = str(error).partition("\n")[0] or type(error).__name__
            captured.not_restored(f"train_step cannot be traced: {line}")
            return
        self._captured.give(values)

    def _tell_of_caches(self) -> None:
        """Says where it is unknown what a cache in memory was filled with."""
        caches = repeatable.draws_below_memory_caches(self._validated_data)
        trained = repeatable.draws_below_memory_caches(self._iterator.batches.dataset)
        shared = any(one is other for one in caches for other in trained)
        if shared or (caches and self.validation_steps):
            why = "training reads it too" if shared else "validation_steps may end before it is filled"
            warn(
                f"validation_data: is cached in memory after random operations, and {why}, so its order may differ "
                "after a restart; call cache() before them, or pass it a file"
            )

    @property
    def _validated_data(self) -> Any:
        return self.validation_data[0] if isinstance(self.validation_data, tuple) else self.validation_data

    def _advance_validation(self, iterators: int, unread: int) -> None:
        """Lets the next validation have the order after so many, also if it is shuffled together with training."""
        self._validations, self._unread_validations, self._unvalidated = iterators, unread, True
        self._advanced = isinstance(self._validated_data, tf.data.Dataset)
        if self._advanced:
            how = {
                "first_ended": self.validation_steps is None,
                "read_ahead": several(self.model.distribute_strategy),
            }
            repeatable.pass_over(self._validated_data, times=iterators, unread=unread, **how)

    def has_begun(self, callback: Any) -> bool:
        """Whether a callback has begun the epoch already, before training was interrupted within it.

        What it did then is in the model and in its attributes. One whose attributes could not all be kept begins again,
        and so does what shows progress.
        """
        shows = isinstance(callback, keras.callbacks.ProgbarLogger)
        return self._begun and callback is not self and not shows and not self._callback_states.begins_again(callback)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch, self._in_epoch = epoch, 0
        if self._begun:
            self._begun = False
            # Of those that have begun again, what could be kept counts.
            self._callback_states.remind(self._state.remembered())
            self._in_epoch = self._state.at()["step_in_epoch"]
            self._metrics.write(self._state.metrics.numpy())
        self._began = self._step - self._in_epoch
        if not self._told:
            self._told = True
            self._tell_what_is_lost()

    def _tell_what_is_lost(self) -> None:
        if self._folder is not None and (lost := self._callback_states.not_kept()):
            warn(
                f"callbacks: {', '.join(lost)}: will be lost when training resumes; use numbers, text, arrays, or "
                "lists, dicts, sets and dataclasses of them"
            )

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        length = self._iterator.num_batches
        self._in_epoch = batch + 1 if length is None else min(batch + 1, length)
        self._step = self._began + self._in_epoch
        # Not asked for later: Keras makes the next epoch's iterator before it validates.
        self._position = self._iterator.position
        step_record.done(self._step)
        # The end of the epoch reports and saves for its last step.
        self._last_logs = logs if self._in_epoch == length or self.model.stop_training else None
        if self._in_epoch == length:
            return
        if self._progress.due(self._step):
            self._report(logs)
        asked = self._exchange.agreed()
        if asked or self._checkpoints.due(self._step):
            self._save(step_in_epoch=self._in_epoch, position=self._position)
        if asked:
            self._leave()

    def before_validation(self) -> None:
        """Called before the other callbacks begin a validation: what they then change is none of the training's."""
        if not self._in_training:
            return
        if (batches := self._validation_batches) is not None:
            batches.trains = True
            if self._unvalidated:
                self._unvalidated = False
                batches.start_at(self._validations, 0, unread=self._unread_validations, made=self._advanced)
        self._before = _BeforeValidation(self.model, self._metrics.read(), self._captured.values())
        if any(_acts_on_validation(one) for one in self._callbacks):
            self._before.take(self._callback_states.changed())

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        step_record.goes_on()
        if self._before and self._exchange.agreed():
            self._before.restore()
            self._save(step_in_epoch=self._in_epoch, position=self._position)
            self._leave()

    def on_test_end(self, logs: Any = None) -> None:
        if self._before and (batches := self._validation_batches) is not None:
            self._validations, self._unread_validations = batches.iterators, batches.unread
        self._before = None

    @property
    def _validation_batches(self) -> Any:
        return getattr(getattr(self.model, "_eval_epoch_iterator", None), "batches", None)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._report(logs)
        asked = self._exchange.agreed()
        last = epoch + 1 == self.params["epochs"] or self.model.stop_training
        if not last and (asked or self._checkpoints.due(self._step)):
            self._epoch, self._last_logs = epoch + 1, None
            self._save(step_in_epoch=0, position=self._iterator.next_position)
            if asked:
                self._leave()

    def before_end(self) -> None:
        """Called before the other callbacks end the training, which they do again when a finished fit is restored."""
        self._reads.close()
        if not self._finished:
            # Another fit over the same data begins with the order after these.
            self._save(step_in_epoch=0, position=self._iterator.end, finished=True)

    def on_train_end(self, logs: Any = None) -> None:
        self.model._initial_epoch = None
        self._in_training = False
        self.close()
        step_record.ended()

    def close(self) -> None:
        """Ends what the training began. `fit` of Keras does not call `on_train_end` when it fails."""
        self._reads.close()
        self._training.close()

    def _save(self, *, step_in_epoch: int, position: epochs.Position, finished: bool = False) -> None:
        self._state.move(
            step=self._step,
            epoch=self._epoch,
            step_in_epoch=step_in_epoch,
            **position._asdict(),
            finished=finished,
            validations=self._validations,
            unread_validations=self._unread_validations,
            stopped=self.model.stop_training and not finished,
            epochs=self.params["epochs"],
        )
        self._state.metrics.assign(self._before.metrics if self._before else self._metrics.read())
        before = self._before.callbacks if self._before else None
        changed = self._callback_states.changed() if before is None else before
        values = self._before.captured if self._before else self._captured.values()
        self._state.remember(changed, self._last_logs, values)
        self._checkpoints.save(self._step)

    def _leave(self) -> NoReturn:
        exit_when_saved(self._step, self._checkpoints.flush, is_chief=self._place.is_chief)

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


class _BeforeValidation:
    """What training was when a validation began."""

    def __init__(self, model: Any, metrics: np.ndarray, captured: list[Any]) -> None:
        self.metrics, self.captured = metrics, captured
        self.callbacks: list[Any] | None = None
        """What `CallbackStates.changed` was; None if no callback changes anything in a validation."""
        self._model = model
        self._values: list[tuple[Any, np.ndarray]] = []

    def take(self, callbacks: list[Any]) -> None:
        """Takes the state of callbacks, and the values of all variables that they may change."""
        self.callbacks = callbacks
        optimizers = [variable for one in optimizers_of(self._model) for variable in one.variables]
        self._values = [(variable, variable.numpy()) for variable in [*self._model.variables, *optimizers]]

    def restore(self) -> None:
        """Undoes what callbacks did to the model, such as swapping its weights for their averages."""
        for variable, value in self._values:
            variable.assign(value)


_IN_VALIDATION = ("on_test_begin", "on_test_batch_begin", "on_test_batch_end")


def _acts_on_validation(callback: Any) -> bool:
    """Whether a callback may change the model, or itself, when a validation begins or goes on."""
    if isinstance(callback, keras.callbacks.SwapEMAWeights):
        return True
    if any(method in vars(callback) for method in _IN_VALIDATION):
        return True
    base = keras.callbacks.Callback
    overrides = any(getattr(type(callback), method) is not getattr(base, method) for method in _IN_VALIDATION)
    return overrides and not type(callback).__module__.startswith("keras.")
