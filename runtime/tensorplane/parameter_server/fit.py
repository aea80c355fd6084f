"""`fit` for compiled Keras models on parameter servers, which Keras 3's own `fit` does not support."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from tensorplane.checkpoints.checkpointer import FOLDER, Checkpointer
from tensorplane.cluster import Place
from tensorplane.data.dataset import Inputs
from tensorplane.data.order import Order
from tensorplane.errors import UsageError
from tensorplane.parameter_server.servers import ByStep
from tensorplane.parameter_server.training import Calls, coordinated, on_worker, pause_after
from tensorplane.progress import Progress
from tensorplane.stop import StopRequest, exit_when_saved

_LOG_EVERY = 50


def fit(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    batch_size: int = 32,
    epochs: int = 1,
    steps_per_epoch: int | None = None,
    validation_data: tf.data.Dataset | None = None,
    callbacks: Sequence[Any] = (),
    folder: Path | str | None = None,
    every_steps: int | None = None,
    name: str = "",
    seed: int = 0,
    steps_per_call: int = 10,
    **others: Any,
) -> Any:
    """Trains a model that was built and compiled in the strategy's scope. Returns Keras' History.

    - `x`: a `tf.data.Dataset` of batches, each of which one worker trains on; a function of a
      `tf.distribute.InputContext` that returns one, with `steps_per_epoch`; or arrays, with `y`.
    - `validation_data`: a data set that one worker evaluates after each epoch.
    - `callbacks`: those that act at the ends of epochs and of the training. Methods for batches are not called, because
      workers train on batches at the same time.
    - `folder`, `every_steps`: of checkpoints, as for `Checkpointer`. Arrays resume exactly; of a data set, each worker
      skips as many batches as were trained on. Callbacks begin anew.
    - `name`: of this `fit` in a program that calls several; each needs its own.
    - `seed` decides the order of arrays.

    Raises UsageError for a model that is not built or compiled, and for keywords that only other strategies know. At
    SIGTERM the program exits with 75 after a save.
    """
    if others:
        raise UsageError(f"fit: {', '.join(others)} is not known with parameter servers; remove it")
    of = model.distribute_strategy
    evaluate = None if validation_data is None else _evaluation(model, of, validation_data)
    batches, spec, steps_each = _data(x, y, batch_size, seed, steps_per_epoch)
    _build(model, of, spec)
    step = tf.Variable(0, dtype=tf.int64)
    checkpoints = Checkpointer(_folder(folder, name), every_steps=every_steps, model=model, step=step)
    checkpoints.restore()
    steps = epochs * steps_each
    calls = Calls(of, _train_step(model), step, batches, Progress(Place.current(), int(step), steps))
    hooks = tf.keras.callbacks.CallbackList(
        list(callbacks), add_history=True, model=model, epochs=epochs, steps=steps_each
    )
    stop = StopRequest()
    model.stop_training = False
    training = _Training(model, calls, hooks, step, steps, steps_each, checkpoints, evaluate)
    with coordinated(of, stop) as asked:
        hooks.on_train_begin()
        while int(step) < steps and not model.stop_training:
            training.advance(steps_per_call, asked)
        checkpoints.flush()
        hooks.on_train_end()
    return model.history


@dataclass(frozen=True)
class _Training:
    model: Any
    calls: Calls
    hooks: Any
    step: tf.Variable
    steps: int
    steps_each: int
    """Of an epoch."""
    checkpoints: Checkpointer
    evaluate: Callable[[], None] | None

    def advance(self, steps_per_call: int, stop_requested: Callable[[], bool]) -> None:
        """Trains to the next end of an epoch, save or pause, whichever comes first. SystemExit once a stop is saved."""
        at = int(self.step)
        epoch = at // self.steps_each
        if at % self.steps_each == 0:
            self.model.reset_metrics()
            self.hooks.on_epoch_begin(epoch)
        to = min((epoch + 1) * self.steps_each, pause_after(at, self.checkpoints.ask_after(at)))
        at = self.calls.run(at, to, steps_per_call, _LOG_EVERY, stop_requested)
        self.step.assign(at)
        self.model.optimizer.iterations.assign(at)
        if at % self.steps_each == 0:
            _end_epoch(self.model, self.calls, self.hooks, epoch, self.evaluate)
        ends = at == self.steps or self.model.stop_training
        leaves = stop_requested() and not ends
        if self.checkpoints.due(at) or leaves or ends:
            self.checkpoints.save(at)
        if leaves:
            exit_when_saved(at, self.checkpoints.flush)


def _folder(folder: Path | str | None, name: str) -> Path | None:
    base = folder or os.environ.get(FOLDER)
    return Path(base) / name if base else None


def _data(x: Any, y: Any, batch_size: int, seed: int, steps_per_epoch: int | None) -> tuple[Any, Any, int]:
    """The batches, their element's spec if known, and the steps of an epoch."""
    if isinstance(x, tf.data.Dataset):
        steps = steps_per_epoch or int(x.cardinality())
        if steps <= 0:
            raise UsageError("steps_per_epoch: the number of batches of this data set is unknown; pass it")
        return x, x.element_spec, steps
    if callable(x):
        if not steps_per_epoch:
            raise UsageError("steps_per_epoch: required with a function that returns a data set")
        return x, x(tf.distribute.InputContext(1, 0, 1)).element_spec, steps_per_epoch
    if isinstance(x, Inputs):
        raise UsageError(
            "x: workers of a parameter-server job cannot read the cache of tensorplane.dataset; pass arrays"
        )
    arrays = tf.nest.map_structure(tf.convert_to_tensor, (x,) if y is None else (x, y))
    order = Order(len(tf.nest.flatten(arrays)[0]), batch_size, seed)

    def batch(number: tf.Tensor) -> Any:
        at = order.indices(number, 0, 1)
        return tf.nest.map_structure(lambda array: tf.gather(array, at), arrays)

    spec = tf.nest.map_structure(lambda array: tf.TensorSpec([batch_size, *array.shape[1:]], array.dtype), arrays)
    return ByStep(batch), spec, steps_per_epoch or max(1, order.examples // batch_size)


def _build(model: Any, of: Any, spec: Any) -> None:
    """Creates the variables of metrics and optimizer now: workers cannot."""
    if not model.built or not model.compiled:
        raise UsageError(
            "model: not built or not compiled; give it keras.Input and call compile in the strategy's scope"
        )
    zeros = tf.nest.map_structure(lambda one: tf.zeros([size or 1 for size in one.shape], one.dtype), spec)
    with of.scope():
        model.optimizer.build(model.trainable_variables)
        model._symbolic_build(data_batch=zeros)


def _train_step(model: Any) -> Callable[..., tf.Tensor]:
    def train_step(*batch: Any) -> tf.Tensor:
        return model.train_step(batch)["loss"]

    return train_step


def _end_epoch(model: Any, calls: Calls, hooks: Any, epoch: int, evaluate: Callable[[], None] | None) -> None:
    logs = _results(model)
    if evaluate is not None:
        calls.once(evaluate)
        logs |= {f"val_{name}": value for name, value in _results(model).items()}
    hooks.on_epoch_end(epoch, logs)


def _results(model: Any) -> dict[str, float]:
    return {name: float(value) for name, value in model.get_metrics_result().items()}


def _evaluation(model: Any, of: Any, data: tf.data.Dataset) -> Callable[[], None]:
    """What one worker computes: the metrics of all batches. It begins with a reset, because it may be repeated."""
    restored, count = on_worker(data), int(data.cardinality())
    if count <= 0:
        raise UsageError("validation_data: the number of its batches is unknown; use take or an assert_cardinality")

    def evaluate() -> None:
        model.reset_metrics()
        batches = iter(restored())
        for _ in tf.range(count):
            of.run(lambda batch: model.test_step(batch), args=(next(batches),))

    return evaluate
