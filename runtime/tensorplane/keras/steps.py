"""Steps of Keras' training, evaluation and prediction on several replicas, in one process or several.

Each replica knows its share of the step's samples: losses, metrics and statistics are weighted by it, so that an uneven
last batch counts as it does in one process. What all workers must know is exchanged once a step, in one vector.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf

from tensorplane.input_wait import timed
from tensorplane.keras.batches import Batch, BatchIterator, rows, rows_of, take
from tensorplane.keras.replicas import share, sharing, summed
from tensorplane.stop import StopRequest

Step = Callable[[Any], Any]


class Exchange:
    """What the executions of a model's train function report: requests to stop, examples, the wait for input."""

    def __init__(self) -> None:
        self.mine: Callable[[], bool] = lambda: False
        """Whether this process was asked to stop."""
        self.counting = False
        """Whether somebody calls `taken`."""
        self._newest: tf.Tensor | None = None
        self._unread: list[tf.Tensor] = []
        self._counted = np.zeros(2)

    @contextmanager
    def watching(self, stopping: StopRequest) -> Iterator[None]:
        """In this block, `agreed` and `taken` are called."""
        self.mine, self.counting = (lambda: stopping.came), True
        try:
            yield
        finally:
            # The exchange outlives the callback, which refers to the model.
            self.mine, self.counting = (lambda: False), False
            self._unread.clear()

    def executed(self, facts: tf.Tensor, *, training: bool) -> None:
        """Note the facts of an execution, without waiting for its end: the numbers of `_FACTS`."""
        self._newest = facts
        if training and self.counting:
            self._unread.append(facts)

    def agreed(self) -> bool:
        """Whether a process was asked to stop. The same in all processes after the same step."""
        self._read()
        return self.mine() if self._newest is None else bool(self._newest[0] > 0)

    def taken(self) -> tuple[float, float]:
        """Examples of all processes, and seconds for which this one waited for them, since the last call."""
        self._read()
        (examples, seconds), self._counted = self._counted.tolist(), np.zeros(2)
        return examples, seconds

    def _read(self) -> None:
        for facts in self._unread:
            self._counted += facts.numpy()[1:]
        self._unread.clear()


_FACTS = ("processes that were asked to stop", "examples of all processes", "seconds of waiting for them")

_EXCHANGED = {tf.bfloat16: tf.float32, **dict.fromkeys((tf.bool, tf.int8, tf.uint8, tf.int16, tf.uint16), tf.int32)}
"""What workers cannot exchange, and the type that holds its values."""

_exchanges: WeakKeyDictionary[Any, Exchange] = WeakKeyDictionary()


def exchange_of(model: Any) -> Exchange:
    """What the executions of this model report."""
    return _exchanges.setdefault(model, Exchange())


def function(model: Any, step: Step, *, training: bool) -> Callable[[Any], Any]:
    """Keras' train or test function: runs `steps_per_execution` steps, and returns the logs of the last."""
    strategy, exchange = model.distribute_strategy, exchange_of(model)

    def one(batch: Any, total: tf.Tensor | None, asked: tf.Tensor) -> Any:
        """The logs of a step, and its facts but for the wait."""
        replica = _weighted(model, step, training=training)
        logs = strategy.run(replica, args=(batch, total, asked))
        return tf.nest.map_structure(lambda value: strategy.experimental_local_results(value)[0], logs)

    step_of_all = one
    if not model.run_eagerly:
        step_of_all = tf.function(one, reduce_retracing=True, jit_compile=model.jit_compile, autograph=False)

    def counted(source: Any, parts: Any, count: tf.Tensor, asked: tf.Tensor) -> Any:
        def next_step() -> Any:
            batch, waited = timed(lambda: take(source, parts, strategy))
            logs, facts = step_of_all(batch.values, batch.total, asked)
            return logs, tf.concat([facts, [waited]], axis=0)

        def following(done: tf.Tensor, _: Any, before: tf.Tensor) -> Any:
            logs, facts = next_step()
            return done + 1, logs, _added(before, facts)

        first = (tf.constant(1), *next_step())
        return tf.while_loop(lambda done, *_: done < count, following, first)[1:]

    steps_of_all = tf.function(counted, reduce_retracing=True, autograph=False)

    def run(iterator: Any) -> Any:
        asked = tf.constant(float(exchange.mine()))
        logs, facts = _execution(model, iterator, asked, step_of_all, steps_of_all)
        exchange.executed(facts, training=training)
        return logs

    return run


def _execution(model: Any, iterator: Any, asked: tf.Tensor, one: Any, counted: Any) -> Any:
    """The steps of one execution: logs of the last, and facts; StopIteration if the data have ended."""
    most = model.steps_per_execution
    if isinstance(iterator, BatchIterator) and not model.run_eagerly:
        count = min(most, left) if (left := iterator.left(most)) is not None else 1
        if count == 0:
            raise StopIteration
        if count > 1 or most == 1:
            return counted(iterator.source, iterator.parts, tf.constant(count), asked)
    logs, facts = None, tf.zeros([len(_FACTS)], tf.float64)
    for _ in range(most):
        began = time.perf_counter()
        try:
            batch = next(iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            break
        waited = time.perf_counter() - began
        # A batch that was given to train_on_batch is one that each worker has for itself.
        batch = batch if isinstance(batch, Batch) else Batch(batch, None)
        logs, more = one(*batch, asked)
        facts = _added(facts, tf.concat([more, [waited]], axis=0))
    if logs is None:
        raise StopIteration
    return logs, facts


def _added(before: tf.Tensor, facts: tf.Tensor) -> tf.Tensor:
    """The facts of all steps up to the newest: its requests to stop, the sums of the rest."""
    return tf.concat([facts[:1], before[1:] + facts[1:]], axis=0)


def _weighted(model: Any, step: Step, *, training: bool) -> Callable[..., Any]:
    """The step of one replica. It reports to all: logs, weighted by samples, and whether it was asked to stop."""

    def replica(batch: Any, total: tf.Tensor | None, asked: tf.Tensor) -> Any:
        batch = _present(batch)
        given = rows(batch)
        mine = given if total is None else _counting(total)
        everyones = summed(mine) if total is None else total
        with sharing(mine, everyones):
            with _uncounted(model, given, mine):
                logs = step(batch)
            if training:
                average_statistics(model)
            logs, anyones = _reported(logs, asked)
            return logs, tf.stack([tf.cast(anyones, tf.float64), tf.cast(everyones, tf.float64)])

    return replica


def _counting(total: tf.Tensor) -> tf.Tensor:
    """How many of the step's samples count for the caller's replica."""
    context = tf.distribute.get_replica_context()
    return rows_of(total, tf.cast(context.replica_id_in_sync_group, tf.int64), context.num_replicas_in_sync)


@contextmanager
def _uncounted(model: Any, given: tf.Tensor, counting: tf.Tensor) -> Iterator[None]:
    """In this block, metrics do not count samples that another replica counts."""
    if tf.get_static_value(given) is not None or given is counting:
        # The batches of all steps are full, or a replica without samples has an empty one.
        yield
        return
    variables = [variable.value for metric in model.metrics for variable in metric.variables]
    before = [tf.identity(variable) for variable in variables]
    yield
    for variable, value in zip(variables, before, strict=True):
        variable.assign(tf.where(counting > 0, variable, value))


def _reported(logs: Any, asked: tf.Tensor) -> Any:
    """The logs, averaged over all samples, and the number of replicas whose process was asked to stop."""
    averages, anyones = _averaged([tf.convert_to_tensor(leaf) for leaf in tf.nest.flatten(logs)], asked)
    return tf.nest.pack_sequence_as(logs, averages), anyones


def average_statistics(model: Any) -> None:
    """Average what replicas measured on their own samples: the statistics of BatchNormalization."""
    layers = [layer for layer in model._flatten_layers() if measures_alone(layer)]
    variables = [variable.value for layer in layers for variable in layer.non_trainable_variables]
    variables = [variable for variable in variables if variable.dtype.is_floating]
    if variables:
        for variable, average in zip(variables, _averaged(variables)[0], strict=True):
            variable.assign(average)


def _averaged(values: Sequence[tf.Tensor], count: tf.Tensor | None = None) -> tuple[list[tf.Tensor], tf.Tensor]:
    """The values' averages over all samples, and the sum of the replicas' counts, in one exchange."""
    wide = tf.float64 if any(value.dtype == tf.float64 for value in values) else tf.float32
    weight = share(wide)
    casts = [tf.cast(value, wide) for value in values]
    # A replica without samples computes NaN.
    parts = [tf.reshape(tf.where(weight > 0, value, tf.zeros_like(value)) * weight, [-1]) for value in casts]
    counted = tf.zeros([1], wide) if count is None else tf.reshape(tf.cast(count, wide), [1])
    everyones = summed(tf.concat([*parts, counted], axis=0))
    *sums, counts = tf.split(everyones, [*(tf.size(part) for part in parts), 1], num=len(parts) + 1)
    averages = [
        tf.cast(tf.reshape(one, tf.shape(value)), value.dtype if value.dtype.is_floating else wide)
        for one, value in zip(sums, values, strict=True)
    ]
    return averages, counts[0]


def measures_alone(layer: Any) -> bool:
    """Whether each replica normalizes by the statistics of its own samples."""
    import keras

    return isinstance(layer, keras.layers.BatchNormalization) and not layer.synchronized and layer.trainable


def prediction(model: Any) -> Callable[[Any], Any]:
    """Keras' predict function: the outputs of all replicas for some batches, in the order of the data."""
    strategy = model.distribute_strategy

    def replica(batch: Any, total: tf.Tensor | None) -> Any:
        outputs = model.predict_step(_present(batch))
        if total is not None:
            outputs = tf.nest.map_structure(lambda output: output[: _counting(total)], outputs)
        return tf.nest.map_structure(_gathered, outputs)

    def one(batch: Any, total: tf.Tensor | None) -> Any:
        outputs = strategy.run(replica, args=(batch, total))
        return tf.nest.map_structure(lambda output: strategy.experimental_local_results(output)[0], outputs)

    if not model.run_eagerly:
        one = tf.function(one, reduce_retracing=True, autograph=False)

    def run(batches: Any) -> Any:
        outputs = [one(*(batch if isinstance(batch, Batch) else Batch(batch, None))) for batch in batches]
        return tf.nest.map_structure(lambda *parts: tf.concat(parts, axis=0), *outputs)

    return run


def _gathered(output: tf.Tensor) -> tf.Tensor:
    """The rows of all replicas, in a type that workers can exchange on the way."""
    exchanged = _EXCHANGED.get(output.dtype, output.dtype)
    everyones = tf.distribute.get_replica_context().all_gather(tf.cast(output, exchanged), axis=0)
    return tf.cast(everyones, output.dtype)


def _present(batch: Any) -> Any:
    """The batch with None where Keras' data adapters put an Optional."""
    return tf.nest.map_structure(lambda leaf: None if isinstance(leaf, tf.experimental.Optional) else leaf, batch)
