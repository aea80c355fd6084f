"""The input pipeline: examples are decoded in parallel, once, and read from a cache in later epochs.

    paths, labels = [...], [...]
    data = tensorplane.dataset((paths, labels), load, global_batch=64, seed=7, cache="/data/cache")
    tensorplane.fit(model, data, epochs=5)

Which examples a step has depends on seed and step alone (`Order`): any number of workers sees the same global batches,
and a run that resumes at any step sees the same as one that was never interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tensorplane import lineage
from tensorplane.data import fingerprint
from tensorplane.data.order import Order
from tensorplane.data.sample_cache import SampleCache
from tensorplane.errors import UsageError
from tensorplane.parameter_server.servers import is_parameter_server

_CHUNK = 16
"""Most examples that one call decodes: small, so that a batch is decoded on all processors."""
_PREFETCH = 4


def dataset(
    examples: Any,
    load: Callable[..., Any],
    *,
    global_batch: int,
    seed: int = 0,
    augment: Callable[..., Any] | None = None,
    cache: str | Path | None = None,
    version: str = "",
) -> Inputs:
    """Batches of shuffled examples, epoch after epoch.

    `examples`: a number of examples, of which `load` gets the index, or arrays of equal length (paths, labels; a tuple
    or a dict), of which it gets one element each, as `tf.data.Dataset.map` does. `load` returns one decoded sample: a
    tensor or a structure of tensors, all of fixed shape; as for `map`, a list inside of another structure is one tensor
    of its parts. It runs in a graph, on several threads.

    `augment`: changes a sample anew in each epoch, after the cache. It gets the sample and `seed=`, a pair of numbers
    for `tf.random.stateless_*` and `tf.image.stateless_*` that depends on `seed` and the sample's position alone.

    `cache`: a folder that all workers see, such as a path on a volume of the job. Samples are stored there once they
    are decoded, under a fingerprint of `examples` and of the operations in `load`; other processes and later runs read
    them. Files that `load` reads are not part of it: after changing them in place, set another `version`.

    Raises UsageError if the examples are empty or of different lengths, or if samples cannot be batched or cached.
    """
    parts = _tensors(examples)
    lengths = {len(part) if part.shape.rank else int(part) for part in tf.nest.flatten(parts)}
    if len(lengths) != 1 or lengths == {0}:
        raise UsageError(f"examples: have lengths {sorted(lengths)}; give the same number of each, at least one")
    if global_batch < 1:
        raise UsageError(f"global_batch: {global_batch}; set it to 1 or more")
    (count,) = lengths
    loader = _Loader(parts, load)
    store = _store(Path(cache), loader, count, version) if cache is not None else None
    augmenter = _Augmenter(augment, loader.spec) if augment else None
    return Inputs(Order(count, global_batch, seed), loader, augmenter, store)


@dataclass(frozen=True)
class Inputs:
    """Endless batches for training: what `tensorplane.fit` and `tensorplane.Loop` take."""

    order: Order
    _load: _Loader
    _augment: _Augmenter | None
    _store: _Store | None

    @property
    def steps_per_epoch(self) -> int:
        """Steps in which every example was used at least once.

        If the global batch does not divide the number of examples, the last batch of a pass is completed with the first
        examples of the next: none is left out or repeated within a pass.
        """
        return math.ceil(self.order.examples / self.order.global_batch)

    def batches(self, strategy: tf.distribute.Strategy, *, first_step: int = 0) -> Any:
        """The distributed batches from `first_step` on, each replica's part of the global batch.

        Raises UsageError if the replicas cannot share a batch equally, and under ParameterServerStrategy.
        """
        if is_parameter_server(strategy):
            raise UsageError("dataset: workers of a parameter-server job cannot read its cache; use tensorplane.Order")
        replicas = strategy.num_replicas_in_sync
        share = self.order.share(replicas)
        chunk = max(size for size in range(1, min(share, _CHUNK) + 1) if share % size == 0)

        def pipeline(context: tf.distribute.InputContext) -> tf.data.Dataset:
            local = replicas // context.num_input_pipelines
            first = context.input_pipeline_id * local

            def chunk_of(number: tf.Tensor) -> Any:
                batch, part = number // (share // chunk), number % (share // chunk)
                position = (
                    (batch // local) * self.order.global_batch + (first + batch % local) * share + part * chunk
                ) + tf.range(chunk, dtype=tf.int64)
                return self._samples(position)

            numbers = tf.data.Dataset.range(first_step * local * (share // chunk), tf.int64.max)
            chunks = numbers.map(chunk_of, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
            if share == chunk:
                return chunks.prefetch(_PREFETCH).with_options(_one_thread_each())
            joined = chunks.batch(share // chunk, drop_remainder=True)
            joined = joined.map(lambda *sample: tf.nest.map_structure(_joined, _packed(sample)))
            return joined.prefetch(_PREFETCH).with_options(_one_thread_each())

        data = strategy.distribute_datasets_from_function(pipeline)
        # A fit that resumes does not read what it has trained on.
        data.from_step = lambda step: self.batches(strategy, first_step=first_step + step)
        return data

    def _samples(self, position: tf.Tensor) -> Any:
        indices = self.order.at(position)
        samples = self._store.samples(indices, position[0] // self.order.examples) if self._store else None
        if samples is None:
            samples = self._load.samples(indices)
        return self._augmented(self._augment, samples, position) if self._augment else samples

    def _augmented(self, augment: _Augmenter, samples: Any, position: tf.Tensor) -> Any:
        seeds = tf.stack([tf.fill(tf.shape(position), tf.constant(self.order.seed, tf.int64)), position], axis=1)
        return augment.samples(samples, seeds)


def _one_thread_each() -> tf.data.Options:
    """Operations in one thread: chunks are decoded side by side, and threads of each operation would compete."""
    options = tf.data.Options()
    options.threading.max_intra_op_parallelism = 1
    return options


class _Loader:
    """Decodes examples by their indices."""

    def __init__(self, parts: Any, load: Callable[..., Any]) -> None:
        self._load, self._parts = load, parts
        self._counted = not any(part.shape.rank for part in tf.nest.flatten(parts))
        self.traced = tf.function(self._one).get_concrete_function(tf.TensorSpec([], tf.int64))
        self.spec = _specs(self.traced.structured_outputs)
        for spec in tf.nest.flatten(self.spec):
            if not spec.shape.is_fully_defined():
                raise UsageError(
                    f"load: returns a tensor of unknown shape {spec.shape}, which cannot be batched; "
                    "state it with tf.ensure_shape"
                )

    def samples(self, indices: tf.Tensor) -> Any:
        """The samples in a batch."""
        # The same trace again: a layer of Keras may keep tensors of the first one, which another cannot read.
        return tf.map_fn(self.traced, indices, fn_output_signature=self.spec)

    def _one(self, index: tf.Tensor) -> Any:
        if self._counted:
            return _as_mapped(self._load(index), "load")
        example = tf.nest.map_structure(lambda part: tf.gather(part, index), self._parts)
        return _as_mapped(self._load(*_unpacked(example)), "load")


class _Augmenter:
    """Changes samples, each by a seed. Its trace serves all batches, as that of a `_Loader` does."""

    def __init__(self, augment: Callable[..., Any], spec: Any) -> None:
        def one(pair: tuple[Any, tf.Tensor]) -> Any:
            return _as_mapped(augment(*_unpacked(pair[0]), seed=pair[1]), "augment")

        self._traced = tf.function(one).get_concrete_function((spec, tf.TensorSpec([2], tf.int64)))

    def samples(self, samples: Any, seeds: tf.Tensor) -> Any:
        """The changed samples of a batch."""
        return tf.map_fn(self._traced, (samples, seeds), fn_output_signature=_specs(self._traced.structured_outputs))


class _Store:
    """Samples in a cache, as rows of bytes."""

    def __init__(self, cache: SampleCache, loader: _Loader) -> None:
        self._cache, self._load = cache, loader

    def samples(self, indices: tf.Tensor, epoch: tf.Tensor) -> Any:
        """The samples in a batch; those that the cache does not have are decoded and added."""
        found, records = tf.numpy_function(self._cache.read, [indices, epoch], [tf.bool, tf.uint8])
        found = tf.ensure_shape(found, indices.shape)
        records = tf.ensure_shape(records, [None, _record_bytes(self._load.spec)])
        count = tf.size(tf.where(found), tf.int32)
        # Bytes are only copied where a batch is mixed: in the first epoch, samples pass as they were decoded.
        which = tf.where(count == 0, 0, tf.where(count == tf.size(found), 1, 2))
        return tf.switch_case(
            which,
            [
                lambda: self._decoded(indices)[0],
                lambda: self._typed(records, indices),
                lambda: self._mixed(indices, found, records),
            ],
        )

    def _mixed(self, indices: tf.Tensor, found: tf.Tensor, records: tf.Tensor) -> Any:
        _, decoded = self._decoded(tf.boolean_mask(indices, ~found))
        at = [tf.cast(tf.where(mask)[:, 0], tf.int32) for mask in (found, ~found)]
        return self._typed(tf.dynamic_stitch(at, [records, decoded]), indices)

    def _typed(self, rows: tf.Tensor, indices: tf.Tensor) -> Any:
        return _from_bytes(tf.ensure_shape(rows, [indices.shape[0], rows.shape[1]]), self._load.spec)

    def _decoded(self, indices: tf.Tensor) -> tuple[Any, tf.Tensor]:
        """The decoded samples, and their bytes, which the cache has now."""
        samples = self._load.samples(indices)
        rows = _to_bytes(samples)
        written = tf.numpy_function(_write(self._cache), [indices, rows], tf.int64)
        with tf.control_dependencies([written]):
            return tf.nest.map_structure(tf.identity, samples), tf.identity(rows)


def _write(cache: SampleCache) -> Callable[[np.ndarray, np.ndarray], np.int64]:
    return lambda indices, records: np.int64(cache.write(indices, records))


def _store(folder: Path, loader: _Loader, examples: int, version: str) -> _Store:
    unfit = [spec.dtype.name for spec in tf.nest.flatten(loader.spec) if spec.dtype in (tf.string, tf.variant)]
    if unfit:
        raise UsageError(
            f"cache: samples of {unfit[0]} have no fixed size; return numbers from `load`, or remove `cache`"
        )
    name = fingerprint.of(loader.traced, examples, version)
    lineage.note(dataset={"examples": examples, "fingerprint": name})
    return _Store(SampleCache(folder / name, examples, _record_bytes(loader.spec)), loader)


def _tensors(examples: Any) -> Any:
    """Arrays and lists as tensors, in the tuples and dicts that hold them, as `from_tensor_slices` reads them."""
    if isinstance(examples, tuple):
        return tuple(map(_tensors, examples))
    if isinstance(examples, dict):
        return {name: _tensors(part) for name, part in examples.items()}
    return tf.convert_to_tensor(examples)


def _as_mapped(sample: Any, function: str) -> Any:
    """A sample as `tf.data.Dataset.map` has it: a list is a tuple, and one inside of another structure is a tensor."""
    if isinstance(sample, list):
        return tuple(_stacked(part, function) for part in sample)
    return _stacked(sample, function)


def _stacked(part: Any, function: str) -> Any:
    if isinstance(part, list):
        try:
            return tf.convert_to_tensor(part)
        except (TypeError, ValueError):
            problem = "returns a list inside of another structure, whose parts have different shapes or types"
            raise UsageError(f"{function}: {problem}; return a tuple in its place") from None
    if isinstance(part, dict):
        return {name: _stacked(each, function) for name, each in part.items()}
    if isinstance(part, tuple):
        parts = [_stacked(each, function) for each in part]
        return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)
    return part


def _specs(structure: Any) -> Any:
    return tf.nest.map_structure(lambda each: tf.TensorSpec(each.shape, each.dtype), structure)


def _unpacked(sample: Any) -> tuple[Any, ...]:
    """The arguments that `tf.data.Dataset.map` would pass."""
    return sample if isinstance(sample, tuple) else (sample,)


def _packed(arguments: tuple[Any, ...]) -> Any:
    return arguments if len(arguments) > 1 else arguments[0]


def _joined(parts: tf.Tensor) -> tf.Tensor:
    """Chunks of a batch as the batch."""
    return tf.reshape(parts, [parts.shape[0] * parts.shape[1], *parts.shape[2:]])


def _record_bytes(spec: Any) -> int:
    return sum(each.shape.num_elements() * each.dtype.size for each in tf.nest.flatten(spec))


def _to_bytes(samples: Any) -> tf.Tensor:
    """One row of bytes for each sample."""
    flat = [tf.cast(each, tf.uint8) if each.dtype == tf.bool else each for each in tf.nest.flatten(samples)]
    count = tf.shape(flat[0])[0]
    return tf.concat([tf.reshape(tf.bitcast(each, tf.uint8), [count, -1]) for each in flat], axis=1)


def _from_bytes(rows: tf.Tensor, spec: Any) -> Any:
    """The samples in a batch."""
    sizes = [each.shape.num_elements() * each.dtype.size for each in tf.nest.flatten(spec)]
    columns = tf.split(rows, sizes, axis=1)
    return tf.nest.pack_sequence_as(spec, [_typed(*each) for each in zip(columns, tf.nest.flatten(spec), strict=True)])


def _typed(column: tf.Tensor, spec: tf.TensorSpec) -> tf.Tensor:
    count = column.shape[0]
    if spec.dtype == tf.bool:
        return tf.reshape(column, [count, *spec.shape]) != 0
    if spec.dtype.size == 1:
        return tf.bitcast(tf.reshape(column, [count, *spec.shape]), spec.dtype)
    return tf.bitcast(tf.reshape(column, [count, *spec.shape, spec.dtype.size]), spec.dtype)
