"""Steps of Keras' training, evaluation and prediction on several replicas, in one process or several.

Each replica knows its share of the step's samples: losses, metrics and statistics are weighted by it, so that an uneven
last batch counts as it does in one process. What all workers must know is exchanged once a step, in one vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf

from tensorplane.input_wait import timed
from tensorplane.keras import building, captured, exact_metrics
from tensorplane.keras.batches import Batch, BatchIterator, rows, rows_of, take
from tensorplane.keras.replicas import share, sharing, summed
from tensorplane.log import warn
from tensorplane.stop import StopRequest

Step = Callable[[Any], Any]


class Exchange:
    """What the executions of a model's train function report: requests to stop, examples, the wait for input."""

    def __init__(self) -> None:
        self.mine: Callable[[], bool] = lambda: False
        """Whether this process was asked to stop."""
        self.counting = False
        """Whether somebody calls `taken`."""
        self.check: Callable[[Any], None] | None = None
        """What is called once before the next training step, with the first samples of its batch."""
        self.compared: Any = None
        """What the model was compiled with when `check` compared it."""
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
            self.mine, self.counting, self.check = (lambda: False), False, None
            self._unread.clear()

    def executed(self, facts: tf.Tensor, *, training: bool) -> None:
        """Notes the facts of an execution, without waiting for its end: the numbers of `_FACTS`."""
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
    return _Function(model, step, training=training)


class _Function:
    """The steps of a model, compiled once for all executions."""

    def __init__(self, model: Any, step: Step, *, training: bool) -> None:
        self._model, self._training = model, training
        self._strategy, self._exchange = model.distribute_strategy, exchange_of(model)
        self._sizes_vary: bool | None = None
        self._replica = _weighted(model, step, training=training, sizes_vary=self._note_that_sizes_vary)
        if training:
            self._of_all_replicas = captured.noted(model, self._of_all_replicas)  # type: ignore[method-assign]
        self._step = self._of_all_replicas
        if not model.run_eagerly:
            how = {"reduce_retracing": True, "autograph": False}
            self._step = tf.function(self._of_all_replicas, jit_compile=model.jit_compile, **how)
        self._steps = tf.function(self._counted, reduce_retracing=True, autograph=False)

    def __call__(self, iterator: Any) -> Any:
        exchange = self._exchange
        asked = tf.constant(float(exchange.mine()))
        if self._training and exchange.check and isinstance(iterator, BatchIterator) and iterator.parts is not None:
            check, exchange.check = exchange.check, None
            logs, facts = self._checked(iterator, asked, check)
        else:
            logs, facts = self._up_to(self._model.steps_per_execution, iterator, asked)
        exchange.executed(facts, training=self._training)
        return logs

    def _of_all_replicas(self, batch: Any, total: tf.Tensor | None, asked: tf.Tensor) -> Any:
        """The logs of a step, and its facts but for the wait."""
        logs = self._strategy.run(self._replica, args=(batch, total, asked))
        return tf.nest.map_structure(lambda value: self._strategy.experimental_local_results(value)[0], logs)

    def _counted(self, source: Any, parts: Any, count: tf.Tensor, asked: tf.Tensor) -> Any:
        """`count` steps: logs of the last, and facts."""

        def next_step() -> Any:
            batch, waited = timed(lambda: take(source, parts, self._strategy))
            logs, facts = self._step(batch.values, batch.total, asked)
            return logs, tf.concat([facts, [waited]], axis=0)

        def following(done: tf.Tensor, _: Any, before: tf.Tensor) -> Any:
            logs, facts = next_step()
            return done + 1, logs, _added(before, facts)

        first = (tf.constant(1), *next_step())
        return tf.while_loop(lambda done, *_: done < count, following, first)[1:]

    def _single(self, iterator: Any, asked: tf.Tensor) -> Any:
        if isinstance(iterator, BatchIterator) and not self._model.run_eagerly:
            # Not a batch with its sizes: a step would be compiled for them, and Keras reports otherwise with them.
            return self._steps(iterator.source, iterator.parts, tf.constant(1), asked)
        batch, waited = timed(lambda: next(iterator))
        # A batch that was given to train_on_batch is one that each worker has for itself.
        batch = batch if isinstance(batch, Batch) else Batch(batch, None)
        logs, facts = self._step(*batch, asked)
        return logs, tf.concat([facts, [waited]], axis=0)

    def _up_to(self, most: int, iterator: Any, asked: tf.Tensor, done: int = 0) -> Any:
        """Up to `most` steps, after the first `done` of an execution; StopIteration if the data have ended."""
        left = iterator.left(self._model.steps_per_execution) if isinstance(iterator, BatchIterator) else None
        if left is None or self._model.run_eagerly:
            return _one_by_one(lambda: self._single(iterator, asked), most)
        if (count := min(most, left - done)) <= 0:
            raise StopIteration
        if count > 1 and self._exchanges_sizes_that_vary(iterator, asked):
            return _one_by_one(lambda: self._single(iterator, asked), count)
        return self._steps(iterator.source, iterator.parts, tf.constant(count), asked)

    def _exchanges_sizes_that_vary(self, iterator: BatchIterator, asked: tf.Tensor) -> bool:
        """Whether replicas exchange rows of which each step has another number; a trace tells.

        TensorFlow exchanges nothing in a loop that has another size than in its first pass.
        """
        if self._sizes_vary is None:
            self._sizes_vary = False
            self._steps.get_concrete_function(iterator.source, iterator.parts, tf.constant(1), asked)
        return self._sizes_vary

    def _note_that_sizes_vary(self) -> None:
        self._sizes_vary = True

    def _checked(self, iterator: BatchIterator, asked: tf.Tensor, check: Callable[[Any], None]) -> Any:
        """The first execution of a run: its first step after the check of its first samples, then the others."""
        alone, samples = iterator.first()
        check(_present(samples))
        logs, facts = self._single(alone, asked)
        if self._model.steps_per_execution > 1:
            with suppress(StopIteration):
                logs, more = self._up_to(self._model.steps_per_execution - 1, iterator, asked, done=1)
                facts = _added(facts, more)
        return logs, facts


def _one_by_one(step: Callable[[], Any], most: int) -> Any:
    """The logs of the last step, and the facts of all."""
    logs, facts = None, tf.zeros([len(_FACTS)], tf.float64)
    for _ in range(most):
        try:
            logs, more = step()
        except (StopIteration, tf.errors.OutOfRangeError):
            break
        facts = _added(facts, more)
    if logs is None:
        raise StopIteration
    return logs, facts


def _added(before: tf.Tensor, facts: tf.Tensor) -> tf.Tensor:
    """The facts of all steps up to the newest: its requests to stop, the sums of the rest."""
    return tf.concat([facts[:1], before[1:] + facts[1:]], axis=0)


def _weighted(model: Any, step: Step, *, training: bool, sizes_vary: Callable[[], None]) -> Callable[..., Any]:
    """The step of one replica. It reports to all: logs, weighted by samples, and whether it was asked to stop.

    `sizes_vary` is called if it exchanges something that has another size in each step.
    """

    told: set[str] = set()

    def replica(batch: Any, total: tf.Tensor | None, asked: tf.Tensor) -> Any:
        batch = _present(batch)
        given = rows(batch)
        mine = given if total is None else _counting(total)
        everyones = summed(mine) if total is None else total
        with sharing(mine, everyones) as part:
            with _uncounted(model, given, mine), exact_metrics.noted(model) as results:
                logs = step(batch)
            if part.sizes_vary:
                sizes_vary()
            _tell_of_averages(model, logs, results, told)
            if training:
                average_statistics(model)
            logs, anyones = _reported(logs, results, asked)
            return logs, tf.stack([anyones, tf.cast(everyones, tf.float64)])

    return replica


def _counting(total: tf.Tensor) -> tf.Tensor:
    """How many of the step's samples count for the caller's replica."""
    context = tf.distribute.get_replica_context()
    return rows_of(total, tf.cast(context.replica_id_in_sync_group, tf.int64), context.num_replicas_in_sync)


@contextmanager
def _uncounted(model: Any, given: tf.Tensor, counting: tf.Tensor) -> Iterator[None]:
    """In this block, metrics do not count samples that another replica counts."""
    full = tf.is_symbolic_tensor(given) and tf.get_static_value(given) is not None
    if full or given is counting:
        # The batches of all steps are full, or a replica without samples has an empty one.
        yield
        return
    variables = [variable.value for metric in model.metrics for variable in metric.variables]
    before = [tf.identity(variable) for variable in variables]
    yield
    for variable, value in zip(variables, before, strict=True):
        variable.assign(tf.where(counting > 0, variable, value))


def _tell_of_averages(model: Any, logs: Any, results: exact_metrics.Results, told: set[str]) -> None:
    """Says which logs of an epoch are averages of what each replica computes from its own results of metrics."""
    if not isinstance(logs, dict):
        return
    averages = [name for name, leaf in logs.items() if name not in told and results.decide(leaf)]
    if averages and not _of_epochs(model, logs):
        told.update(averages)
        warn(
            f"{', '.join(averages)}: a step computes it from results of metrics, of which each replica has its own, so "
            "it may differ from one process; compute it in get_metrics_result, or train on one replica "
            "(strategy: single)"
        )


def _of_epochs(model: Any, logs: Any) -> bool:
    """Whether Keras has an epoch's logs from the model's results instead: these have the same names."""
    with suppress(Exception):  # the program may compute them with NumPy, which a step cannot
        return set(logs) == set(model.get_metrics_result())
    return False


def _reported(logs: Any, results: exact_metrics.Results, asked: tf.Tensor) -> tuple[Any, tf.Tensor]:
    """The logs of the whole batch, and the number of replicas whose process was asked to stop, in one exchange.

    Results of metrics are computed from what the metrics of all replicas counted; other values are averaged over all
    samples.
    """
    leaves = tf.nest.flatten(logs)
    metrics = results.metrics_of(leaves)
    counted = [variable.value for metric in metrics for variable in metric.variables]
    others = [tf.convert_to_tensor(leaf) for leaf in leaves if not results.is_result(leaf)]
    parts = [*(_part(value) for value in others), *(tf.convert_to_tensor(value) for value in counted), asked]
    sums = _summed_together(parts)
    averages = iter(_like(*pair) for pair in zip(sums[: len(others)], others, strict=True))
    totals = iter(tf.cast(total, value.dtype) for total, value in zip(sums[len(others) : -1], counted, strict=True))
    values = {id(metric): [next(totals) for _ in metric.variables] for metric in metrics}
    found = [results.replaced(leaf, values) if results.is_result(leaf) else next(averages) for leaf in leaves]
    return tf.nest.pack_sequence_as(logs, found), sums[-1]


def average_statistics(model: Any) -> None:
    """Average what replicas measured on their own samples: the statistics of BatchNormalization."""
    layers = [layer for layer in model._flatten_layers() if measures_alone(layer)]
    variables = [variable.value for layer in layers for variable in layer.non_trainable_variables]
    variables = [variable for variable in variables if variable.dtype.is_floating]
    if variables:
        averages = _summed_together([_part(tf.convert_to_tensor(variable)) for variable in variables])
        for variable, average in zip(variables, averages, strict=True):
            variable.assign(tf.cast(average, variable.dtype))


def _part(value: tf.Tensor) -> tf.Tensor:
    """The replica's part of an average over all samples. Without samples it is 0, also for NaN."""
    weight = share(tf.float64)
    return tf.where(weight > 0, tf.cast(value, tf.float64), tf.zeros_like(value, tf.float64)) * weight


def _summed_together(values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """The sums over all replicas, in float64, in one exchange."""
    flat = [tf.reshape(tf.cast(value, tf.float64), [-1]) for value in values]
    everyones = tf.split(summed(tf.concat(flat, axis=0)), [tf.size(one) for one in flat], num=len(flat))
    return [tf.reshape(one, tf.shape(value)) for one, value in zip(everyones, values, strict=True)]


def _like(average: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    return tf.cast(average, value.dtype if value.dtype.is_floating else tf.float32)


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
            # All rows or none: a model may return several for a sample, such as one for each word.
            end = tf.where(_counting(total) > 0, tf.int64.max, 0)
            outputs = tf.nest.map_structure(lambda output: output[:end], outputs)
        return tf.nest.map_structure(_gathered, outputs)

    def one(batch: Any, total: tf.Tensor | None) -> Any:
        outputs = strategy.run(replica, args=(batch, total))
        return tf.nest.map_structure(lambda output: strategy.experimental_local_results(output)[0], outputs)

    def alone(batch: Any) -> Any:
        """The outputs for a batch that was given to `predict_on_batch`, which each worker has for itself."""
        outputs = strategy.run(lambda values: model.predict_step(_present(values)), args=(batch,))
        return tf.nest.map_structure(lambda output: strategy.experimental_local_results(output)[0], outputs)

    if not model.run_eagerly:
        one = tf.function(one, reduce_retracing=True, autograph=False)
        alone = tf.function(alone, reduce_retracing=True, autograph=False)

    def run(batches: Any) -> Any:
        if not model.built:
            building.build_to_predict(model, _present(building.first_of_replicas(batches[0], strategy)))
        outputs = [one(*batch) if isinstance(batch, Batch) else alone(batch) for batch in batches]
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
