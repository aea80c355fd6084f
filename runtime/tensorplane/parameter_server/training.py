"""Asynchronous training: the chief hands out steps, workers compute them, parameter servers hold the variables.

`train` is the loop with `ClusterCoordinator` as one call; workers and servers run `server.py`, without code of the
user. `Loop` calls it in jobs with parameter servers.
"""

from __future__ import annotations

import atexit
import collections
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import tensorflow as tf

from tensorplane import step_record
from tensorplane.checkpoints.checkpointer import Checkpointer
from tensorplane.cluster import Place
from tensorplane.errors import UsageError
from tensorplane.parameter_server import server, servers, shards
from tensorplane.parameter_server.servers import ByStep, strategy
from tensorplane.progress import Progress
from tensorplane.schedule import Schedule
from tensorplane.stop import EXIT_SAVED, StopRequest, exit_when_saved

__all__ = ["ByStep", "strategy", "train"]

_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)
"""Errors of a step whose parameter server is gone."""
_PERHAPS_LOST = (tf.errors.FailedPreconditionError, tf.errors.NotFoundError)
"""Errors of a step whose parameter server is back without its variables; or of the step itself, for a missing file."""
_PS = "/job:ps"
"""In errors about a parameter server."""
_CALLS_AHEAD = 4
"""Calls that are scheduled for each worker, so that none waits for the chief."""
_LEAST_STEPS = 50
"""Steps between two pauses of the workers."""
_SECONDS_FOR_OTHERS = 3.0
"""How long the chief waits before it ends after the loss of a server, whose own exit code should be the first."""


def train(
    of: Any,
    train_step: Callable[..., tf.Tensor],
    step: tf.Variable,
    batches: Any,
    schedule: Schedule,
    checkpoints: Checkpointer,
    stop: StopRequest,
    *,
    steps_per_call: int = 10,
) -> None:
    """Trains from `step` to the end of the schedule, and returns after the last step with its checkpoint saved.

    - `of`: the strategy, from `Place.strategy` or `parameter_server.strategy`.
    - `train_step` takes a batch and returns its loss. It computes gradients and applies them, as with other strategies.
    - `step`: the number of completed steps. A worker that is lost repeats its call, so at most `steps_per_call` steps
      are computed twice; none is left out.
    - `batches`: of `Order.batches`, a `ByStep`, a `tf.data.Dataset`, or a function of a `tf.distribute.InputContext`
      that returns one. Of a data set, each worker takes its share, and a resumed run skips what was trained on.

    On SIGTERM, of the chief or of a parameter server: save, then SystemExit with 75. With 75 it also ends when a
    parameter server is lost: the job restarts and continues from its last checkpoint.
    """
    calls = Calls(of, train_step, step, batches, Progress(Place.current(), int(step), schedule.steps))
    with coordinated(of, stop) as asked:
        while (at := int(step)) < schedule.steps:
            to = min(pause_after(at, schedule.next_look(at, checkpoints)), schedule.steps)
            step.assign(calls.run(at, to, steps_per_call, schedule.log_every, asked))
            leaves = asked() and int(step) < schedule.steps
            if schedule.is_due(int(step), checkpoints) or leaves or int(step) == schedule.steps:
                checkpoints.save(int(step))
            if leaves:
                exit_when_saved(int(step), checkpoints.flush)
        checkpoints.flush()


@contextmanager
def coordinated(of: Any, stop: StopRequest) -> Iterator[Callable[[], bool]]:
    """Watches the servers in this block, which trains. Yields whether the chief or a server was asked to stop.

    A lost server ends the program with 75. When the program ends, the servers do: with 0 if the block was completed.
    """
    watch, code = servers.Watch(of), [EXIT_SAVED]
    # Not at the end of the block: the program still reads from the servers what it publishes.
    atexit.register(lambda: watch.dismiss(code[0]))
    with stop.deferred(), watch.watching():
        try:
            yield lambda: stop.came or watch.stopping
        except _LOST as error:
            _lost(error)
        except _PERHAPS_LOST as error:
            if watch.has_all_variables():
                raise
            _lost(error)
    code[0] = 0
    step_record.ended()


def pause_after(step: int, look: int) -> int:
    """The step at which all workers pause, so that a save is consistent. `look`: the next step at which one may be due.

    Not after every step, as other loops look whose interval is measured: workers would wait for each other each time.
    """
    return look if look > step + 1 else step + _LEAST_STEPS


class Calls:
    """The calls that workers compute: a few steps each."""

    def __init__(
        self, of: Any, train_step: Callable[..., tf.Tensor], step: tf.Variable, batches: Any, progress: Progress
    ) -> None:
        if of.num_replicas_in_sync > 1:
            raise UsageError("parameter server: a worker can use one GPU; set resources.gpus: 1 and more workers")
        step_record.expected()
        self._progress = progress
        self._strategy, self._train_step = of, train_step
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(of)
        self._workers = servers.tasks(of).num_tasks("worker")
        self._iterators: list[Any]
        if isinstance(batches, ByStep):
            self._batch, self._iterators = batches.batch, []
        else:
            on_workers = self._coordinator.create_per_worker_dataset(_shares(batches, self._workers, step))
            self._iterators = [iter(on_workers)]
        self._call = tf.function(self._compute)
        self._began = False
        """Whether a step of this process is complete."""
        self._traced: dict[Callable[[], None], Any] = {}

    def run(self, at: int, to: int, each: int, log_every: int, asked: Callable[[], bool]) -> int:
        """Computes the steps from `at` to `to`, and logs. Returns the step that is complete; less if `asked`."""
        waiting: collections.deque[tuple[int, Any]] = collections.deque()
        next_first, logged = at, at
        if self._began:
            step_record.done(at)
        while waiting or (next_first < to and not asked()):
            # The first step alone: an error cancels all other calls, and would hide that this one was completed.
            ahead, steps = (_CALLS_AHEAD * self._workers, each) if self._began else (1, 1)
            while next_first < to and len(waiting) < ahead and not asked():
                end = min(next_first + steps, to)
                waiting.append((end, self._schedule(next_first, end)))
                next_first = end
            if not waiting:
                break
            end, value = waiting.popleft()
            loss = self._result(value)
            step_record.goes_on()
            if not self._began:
                # Calls end in any order: a run that fails and resumes comes back to this pause, and fails after it.
                step_record.done(at)
                self._began = True
            if end - logged >= log_every or end == to:
                self._progress.report(end, loss=loss)
                logged = end
        self._coordinator.join()
        return next_first

    def once(self, function: Callable[[], None]) -> None:
        """Computes a function on one worker. It is traced at the first call."""

        def compute() -> None:
            with shards.local_copies():
                function()

        if function not in self._traced:
            self._traced[function] = tf.function(compute)
        self._coordinator.schedule(self._traced[function])
        self._coordinator.join()

    def _schedule(self, first: int, end: int) -> Any:
        bounds = (tf.constant(first, tf.int64), tf.constant(end, tf.int64))
        return self._coordinator.schedule(self._call, args=(*self._iterators, *bounds))

    def _result(self, value: Any) -> float:
        """The last loss of a call. Raises the error of the call, or of the server that it needed."""
        try:
            return float(value.fetch())
        except tf.errors.OpError as error:
            if _PS in str(error):
                # With a server gone, the other calls may never end.
                raise
            # Another call's error cancelled it, which `join` raises. Or its worker was lost before the value was copied
            # from there: then another worker computes the call again, for which `join` waits.
            self._coordinator.join()
            return float(value.fetch())

    def _compute(self, *arguments: Any) -> tf.Tensor:
        *iterators, first, end = arguments
        loss = tf.constant(0.0)
        for number in tf.range(first, end):
            batch = next(iterators[0]) if iterators else self._batch(number)
            loss = tf.cast(self._strategy.run(self._one, args=(batch,)), tf.float32)
        return loss

    def _one(self, batch: Any) -> tf.Tensor:
        with shards.local_copies():
            return self._train_step(*batch)


def _shares(batches: Any, workers: int, step: tf.Variable) -> Callable[[], tf.data.Dataset]:
    """A function that makes, on a worker, its share of the data, after what has been trained on."""
    whole = on_worker(batches) if isinstance(batches, tf.data.Dataset) else None

    def share() -> tf.data.Dataset:
        index = tf.strings.to_number(tf.io.read_file(server.TASK), tf.int64)
        data = whole().shard(workers, index) if whole else batches(tf.distribute.InputContext(workers, index, 1))
        return data.repeat().skip(step.read_value() // workers)

    return share


def on_worker(data: tf.data.Dataset) -> Callable[[], tf.data.Dataset]:
    """The data set for functions that run on workers: it is an object of the chief's process, so they get its graph."""
    graph = tf.raw_ops.DatasetToGraphV2(input_dataset=tf.data.experimental.to_variant(data)).numpy()

    def restored() -> tf.data.Dataset:
        # Not constant for TensorFlow, which would compute it in advance and fail to represent it.
        text = tf.where(tf.timestamp() > 0, tf.constant(graph), "")
        variant = tf.raw_ops.DatasetFromGraph(graph_def=text)
        return tf.data.experimental.from_variant(variant, data.element_spec)

    return restored


def _lost(error: tf.errors.OpError) -> NoReturn:
    reason = str(error.message).partition("\n")[0]
    print(
        f"tensorplane: lost=server; the job restarts from its last checkpoint ({reason})", file=sys.stderr, flush=True
    )
    time.sleep(_SECONDS_FOR_OTHERS)
    sys.exit(EXIT_SAVED)
