"""Keras' epoch iterator, over `Batches`: it can begin in the middle of an epoch, and knows the position in the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import tensorflow as tf

from tensorplane.errors import UsageError
from tensorplane.keras.batches import Batches

_EXCLUDED = (tf.distribute.TPUStrategy, tf.distribute.experimental.ParameterServerStrategy)
_CANNOT_RESUME = "strategy: fit cannot resume with it; use MirroredStrategy or MultiWorkerMirroredStrategy"

newest: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The epoch iterator of the newest call to `fit` or `evaluate` of each model."""
resumed: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The epoch iterator of the `fit` of each model that has been resumed. Callbacks may evaluate in it."""


def check_resumes(strategy: tf.distribute.Strategy) -> None:
    """Raises UsageError for strategies that distribute the data themselves: where they are in them is unknown."""
    if isinstance(strategy, _EXCLUDED):
        raise UsageError(_CANNOT_RESUME)


def over_batches(original: Any) -> Any:
    """A subclass of Keras' TFEpochIterator."""

    class EpochIterator(_Position, original):  # type: ignore[misc]
        """Keras' epoch iterator over `Batches`."""

        def __init__(self, distribute_strategy: Any = None, *args: Any, **kwargs: Any) -> None:
            if isinstance(distribute_strategy, _EXCLUDED):
                original.__init__(self, distribute_strategy, *args, **kwargs)
                return
            # Not Keras' own __init__, which distributes the dataset.
            super(original, self).__init__(*args, **kwargs)
            self._distribute_strategy = distribute_strategy
            self.batches = Batches(self.data_adapter.get_tf_dataset(), distribute_strategy)
            self._distributed_dataset = self.batches

        def _enumerate_iterator(self) -> Iterator[tuple[int, int, Any]]:
            if self.stopped:
                self.stopped, self.resumed = False, True
                # As in the epoch that was stopped: what reads the data next has the order after it.
                iter(self._get_iterator())
                return
            first, self.first_step = self.first_step, 0
            before, self._before = self._before, 0
            self.resumed = first > 0
            for begin, end, iterator in super()._enumerate_iterator():
                # Keras counts from where the iterator begins, until the data end.
                self._steps_seen += before
                before = 0
                if begin >= first:
                    if self.batches is not None:
                        self.batches.taken += self.steps_per_execution
                    yield begin, end, iterator

    return EpochIterator


class Position(NamedTuple):
    """A place in the data of a training."""

    iterators: int = 0
    """Finished iterators."""
    taken: int = 0
    """Batches taken from the current one."""
    unread: int = 0
    """How many of the finished ones gave no batch."""


class _Position:
    """Where an epoch iterator is in its data."""

    batches: Batches | None = None
    """None for strategies that distribute the data themselves."""
    steps_per_epoch: int | None
    _current_iterator: Any
    first_step = 0
    last_logs: Any = None
    """Of the epoch's last step, if it was completed before the epoch was resumed."""
    resumed = False
    """Whether the epoch began at a later step than the first."""
    stopped = False
    """Whether the next epoch has no step left, since a callback has stopped training in it."""
    _steps_seen: int
    _before = 0
    """Batches that earlier epochs took from the iterator with which the next one begins."""

    def start_at(self, step: int, position: Position, *, finished: bool = False, stopped: bool = False) -> None:
        """Begins the next epoch at `step`, where its position was this one.

        `finished`: no epoch is left. `stopped`: no step of the epoch is left.
        """
        self.stopped = stopped
        self.first_step, self._before = step, max(0, position.taken - step)
        # Steps of an epoch may have ended before the data.
        first_ended = not (finished and position.iterators == 1 and self.steps_per_epoch)
        self._batches.start_at(position.iterators, position.taken, unread=position.unread, first_ended=first_ended)

    @property
    def position(self) -> Position:
        """Within an epoch."""
        return Position(self._batches.iterators - 1, self._batches.taken, self._batches.unread_before)

    @property
    def next_position(self) -> Position:
        """Between two epochs: where the next one begins."""
        if self.steps_per_epoch is None or self._current_iterator is None:
            return self.end
        return self.position

    @property
    def end(self) -> Position:
        """Where another reading of the data begins."""
        return Position(self._batches.iterators, 0, self._batches.unread)

    @property
    def _batches(self) -> Batches:
        if self.batches is None:
            raise UsageError(_CANNOT_RESUME)
        return self.batches
