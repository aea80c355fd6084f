"""A dataset of global batches, shared by the replicas: each takes its part of each batch, each sample is used once.

Every worker reads the whole dataset and takes its replicas' parts, so all workers see the end of the data at the same
step, without asking each other. TensorFlow's own distribution remains for datasets with the auto-shard policy FILE or
OFF, whose workers read different data, and for datasets that the user has distributed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple
from weakref import WeakSet

import tensorflow as tf

from tensorplane.errors import UsageError
from tensorplane.input_wait import Meter
from tensorplane.keras import repeatable
from tensorplane.keras.other_readers import reads_for_training
from tensorplane.keras.replicas import Replicas, several
from tensorplane.log import warn

PREVIEWED = 2
"""How many samples of the first batch, for each replica, come with it."""

_shuffled_before: WeakSet[tf.data.Dataset] = WeakSet()
"""The shuffles of datasets without an end that a `fit` of this process has read."""

_BY_WORKER = (tf.data.experimental.AutoShardPolicy.FILE, tf.data.experimental.AutoShardPolicy.OFF)


class Batches:
    """The batches of this process. It is iterated once an epoch, or once in all if the data never end."""

    def __init__(self, dataset: Any, strategy: tf.distribute.Strategy) -> None:
        """`dataset`: of global batches, or already distributed. Of `Inputs.batches`, it can begin at any step."""
        self._strategy = strategy
        self._replicas = Replicas.of(strategy)
        self._shared = not isinstance(dataset, tf.distribute.DistributedDataset) and several(strategy)
        if self._shared and dataset.options().experimental_distribute.auto_shard_policy in _BY_WORKER:
            dataset, self._shared = strategy.experimental_distribute_dataset(dataset), False
        if self._shared:
            _check_rows(dataset.element_spec)
        if self._shared and self._replicas.workers > 1:
            repeatable.check_same(dataset, strategy)
        self.dataset = dataset
        """What is read: `dataset`, distributed if TensorFlow does that."""
        self.length = _length(dataset)
        self.iterators = 0
        """Number of iterators made so far: a shuffled dataset gives each another order."""
        self.taken = 0
        """Number of batches that were taken from the newest iterator."""
        self.trains = False
        """Whether they are those that a `fit` trains or validates with."""
        self._left = self._skip = 0
        self._made = False
        self._meter = None if several(strategy) else Meter()

    def taken_since(self) -> tuple[float, float]:
        """Of a single replica: examples, and seconds for which it waited for them, since the last call."""
        return self._meter.take() if self._meter else (0.0, 0.0)

    def check_repeatable(self) -> None:
        """Raises NotRepeatable if the order of the data cannot be repeated, and says what another fit cannot repeat."""
        if not isinstance(self.dataset, tf.data.Dataset):
            return
        repeatable.check(self.dataset)
        shuffles = repeatable.endless_shuffles(self.dataset)
        if any(one in _shuffled_before for one in shuffles):
            warn(
                "dataset: is endless and was read by an earlier fit, so its order may differ after a restart; "
                "create a dataset for each fit"
            )
        _shuffled_before.update(shuffles)

    @property
    def element_spec(self) -> Any:
        """Types and shapes of a batch, as one replica gets it."""
        spec = self.dataset.element_spec
        return tf.nest.map_structure(_any_rows, spec, expand_composites=False)

    @property
    def is_shuffled(self) -> bool:
        """Whether each iterator has another order."""
        return isinstance(self.dataset, tf.data.Dataset) and bool(repeatable.seeds(self.dataset))

    @property
    def unread(self) -> int:
        """Number of iterators of which no batch was taken: Keras makes one at the end of an epoch, and leaves it."""
        return self._left + int(self._made and not self.taken)

    @property
    def unread_before(self) -> int:
        """The same without the newest."""
        return self._left

    def start_at(
        self, iterators: int, taken: int, *, unread: int = 0, made: bool = False, first_ended: bool = True
    ) -> None:
        """Lets the next iterator be the one after `iterators` others, without its first `taken` batches.

        `made`: the others were made already, elsewhere in this process. `unread`, `first_ended`: as in
        `repeatable.pass_over`.
        """
        missing, left = max(0, iterators - self.iterators), max(0, unread - self.unread)
        if not made:
            how = {"first_ended": first_ended, "read_ahead": self._shared}
            repeatable.pass_over(self.dataset, times=missing, unread=left, **how)
        if missing:
            self.iterators += missing
            self._left, self._made = self.unread + left, False
        self._skip = taken

    def __iter__(self) -> Any:
        """A `BatchIterator`; TensorFlow's own iterator if there is only one replica."""
        self._left, self._made = self.unread, True
        self.taken, self._skip = self._skip, 0
        self.iterators += 1
        with reads_for_training(self) if self.trains else nullcontext():
            iterator = self._iterator(self.taken)
        if 0 < (self.length or 0) <= self.taken and repeatable.draws_below_memory_caches(self.dataset):
            # It is at its end already, so nobody reads it; but the later ones read the cache that it has filled.
            for _ in iterator:
                pass
        if not several(self._strategy):
            return iterator
        return BatchIterator(iterator, self._strategy, self)

    @property
    def parts(self) -> tuple[int, int] | None:
        """First replica and number of replicas whose parts the iterators give; None if TensorFlow distributes them."""
        return (self._replicas.first, self._replicas.local) if self._shared else None

    def _iterator(self, skip: int) -> Any:
        dataset = self.dataset
        if skip and hasattr(dataset, "from_step"):
            dataset, skip = dataset.from_step(skip), 0
        if isinstance(dataset, tf.data.Dataset):
            dataset = dataset.skip(skip) if skip else dataset
            if self._meter:
                return iter(self._meter.over(dataset, rows))
            return iter(_parts_of(dataset, self._replicas) if self._shared else dataset)
        iterator = iter(dataset)
        for _ in range(skip):
            next(iterator)
        return iterator


class BatchIterator:
    """Batches in order, each as `strategy.run` takes it."""

    def __init__(self, source: Any, strategy: tf.distribute.Strategy, batches: Batches) -> None:
        self.source = source
        """TensorFlow's iterator, to be read with `take`."""
        self.parts = batches.parts
        self._strategy, self._batches = strategy, batches

    def left(self, more: int) -> int | None:
        """Number of batches to come, if `more` were counted too early; None if that is unknown."""
        length = self._batches.length
        if self.parts is None or length is None:
            return None
        return max(0, length - self._batches.taken + more) if length >= 0 else more

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return take(self.source, self.parts, self._strategy)

    def first(self) -> tuple[BatchIterator, Any]:
        """The first batch alone, and its first samples.

        The samples are the same on all workers, at most `PREVIEWED` for each replica; None if this worker cannot know
        what others read.
        """
        element = next(self.source)
        # Another dataset would know the sizes of this batch, and steps be compiled once more for them.
        dataset = tf.data.Dataset.from_tensors(element)
        variant = tf.data.experimental.to_variant(dataset)
        alone = tf.data.experimental.from_variant(variant, self.source.element_spec)
        samples = None if self.parts is None else element[2]
        return BatchIterator(iter(alone), self._strategy, self._batches), samples


class Batch(NamedTuple):
    """A batch, as `strategy.run` takes it."""

    values: Any
    total: tf.Tensor | None
    """Its samples over all replicas; None if this worker cannot know."""


def take(source: Any, parts: tuple[int, int] | None, strategy: tf.distribute.Strategy) -> Batch:
    """The next batch of one of TensorFlow's iterators."""
    if parts is None:
        return Batch(next(source), None)
    (first, local), (slices, total, _) = parts, next(source)
    if local == 1:
        return Batch(slices[0], total)
    value = strategy.experimental_distribute_values_from_function(
        lambda context: slices[context.replica_id_in_sync_group - first]
    )
    return Batch(value, total)


def rows(batch: Any) -> tf.Tensor:
    """Number of samples of a batch."""
    return _rows(_leaves(batch)[0])


def _leaves(batch: Any) -> list[Any]:
    return [leaf for leaf in tf.nest.flatten(batch) if not _is_absent(leaf)]


def _is_absent(leaf: Any) -> bool:
    """Whether a batch has None there, such as for labels; Keras' data adapters put an Optional."""
    return leaf is None or isinstance(leaf, tf.experimental.Optional)


def _rows(leaf: Any) -> tf.Tensor:
    if isinstance(leaf, tf.SparseTensor):
        return leaf.dense_shape[0]
    if isinstance(leaf, tf.RaggedTensor):
        return leaf.nrows(tf.int64)
    # 1 for a scalar.
    return tf.reduce_prod(tf.shape(leaf, tf.int64)[:1])


_UNEVEN = (
    "so replicas cannot take their samples of it; let each part have a row for each sample, "
    "or train on one replica (strategy: single)"
)


def _check_rows(spec: Any) -> None:
    """Raises UsageError if the parts of a batch, such as inputs and labels, cannot have the same number of rows."""
    shapes = [leaf.shape for leaf in tf.nest.flatten(spec) if isinstance(getattr(leaf, "shape", None), tf.TensorShape)]
    sizes = {shape[0] if shape.rank else "no" for shape in shapes if shape.rank is not None} - {None}
    if len(sizes) > 1 or "no" in sizes:
        raise UsageError(f"dataset: parts of a batch have {' and '.join(sorted(map(str, sizes)))} rows, {_UNEVEN}")


def _same_rows(element: Any) -> tf.Operation:
    """Fails if the parts of a batch have unlike numbers of rows. Few datasets know these before."""
    sizes = tf.stack([_rows(leaf) for leaf in _leaves(element)])
    return tf.debugging.Assert(
        tf.reduce_all(sizes == sizes[0]), [f"dataset: parts of a batch have unlike numbers of rows, {_UNEVEN}", sizes]
    )


def _length(dataset: Any) -> int | None:
    """Number of batches; -1 if they never end, None if unknown."""
    cardinality = dataset.cardinality() if callable(dataset.cardinality) else dataset.cardinality
    count = int(cardinality)
    return None if count == tf.data.UNKNOWN_CARDINALITY else count


def _parts_of(dataset: tf.data.Dataset, replicas: Replicas) -> tf.data.Dataset:
    """The parts of this process's replicas of each batch, with the number of samples of the whole batch.

    With the first batch come the first samples of the whole batch; with the others, none.
    """

    def parts(index: tf.Tensor, *batch: Any) -> Any:
        element = batch if isinstance(dataset.element_spec, tuple) else batch[0]
        with tf.control_dependencies([_same_rows(element)]):
            total = tf.identity(rows(element))
        previewed = tf.where(index == 0, tf.minimum(total, PREVIEWED * replicas.total), 0)
        return (
            tuple(_split(element, total, replicas.first + mine, replicas.total) for mine in range(replicas.local)),
            total,
            tf.nest.map_structure(lambda leaf: _between(leaf, tf.zeros([], tf.int64), previewed), element),
        )

    flat = dataset.enumerate().map(lambda index, batch: parts(index, *(batch if isinstance(batch, tuple) else [batch])))
    return flat.prefetch(2)


def _split(element: Any, total: tf.Tensor, replica: int, replicas: int) -> Any:
    return tf.nest.map_structure(lambda leaf: _part(leaf, total, replica, replicas), element)


def _part(leaf: Any, total: tf.Tensor, replica: int, replicas: int) -> Any:
    """One replica's rows of a batch: as many as the others', or one less.

    Without a row of its own, it gets another replica's, which does not count (`rows_of`): operations of TensorFlow fail
    on empty batches, or return NaN.
    """
    begin, end = bounds(total, replica, replicas)
    part = _between(leaf, begin, tf.minimum(tf.maximum(end, begin + 1), total))
    if isinstance(leaf, tf.Tensor) and leaf.shape.rank and leaf.shape[0] and leaf.shape[0] % replicas == 0:
        part = tf.ensure_shape(part, [leaf.shape[0] // replicas, *leaf.shape[1:]])
    return part


def _between(leaf: Any, begin: tf.Tensor, end: tf.Tensor) -> Any:
    """Some rows of a batch."""
    if _is_absent(leaf):
        return leaf
    if isinstance(leaf, tf.SparseTensor):
        size = tf.tensor_scatter_nd_update(leaf.dense_shape, [[0]], [end - begin])
        start = tf.tensor_scatter_nd_update(tf.zeros_like(leaf.dense_shape), [[0]], [begin])
        return tf.sparse.slice(leaf, start, size)
    return leaf[begin:end]


def rows_of(total: tf.Tensor, replica: Any, replicas: int) -> tf.Tensor:
    """How many of a batch's samples count for a replica."""
    begin, end = bounds(total, replica, replicas)
    return end - begin


def bounds(total: Any, replica: Any, replicas: int) -> tuple[Any, Any]:
    """The first of a replica's rows of a batch, and the one after the last."""
    return replica * total // replicas, (replica + 1) * total // replicas


def _any_rows(spec: Any) -> Any:
    """The spec with any number of rows, of one replica."""
    if isinstance(spec, tf.TensorSpec) and spec.shape.rank:
        return tf.TensorSpec([None, *spec.shape[1:]], spec.dtype)
    values = getattr(spec, "_value_specs", None)
    return _any_rows(values[0]) if values else spec
