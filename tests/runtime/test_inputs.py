"""The input pipeline: what each step sees, whatever the number of workers, restarts and the state of the cache."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorplane
from tensorplane.cluster import Place
from tensorplane.data.dataset import Inputs
from tests.support import counts


@dataclass(frozen=True)
class _Worker:
    """One worker's view of a strategy, without the other processes."""

    workers: int
    index: int
    replicas: int
    """Of each worker."""

    @property
    def num_replicas_in_sync(self) -> int:
        return self.workers * self.replicas

    def distribute_datasets_from_function(self, pipeline: Callable[[tf.distribute.InputContext], Any]) -> Any:
        return pipeline(tf.distribute.InputContext(self.workers, self.index, self.num_replicas_in_sync))


_ALONE = _Worker(1, 0, 1)


def _steps(data: Inputs, worker: _Worker, count: int, first_step: int = 0) -> list[list[int]]:
    """What a worker sees in each step."""
    shares = iter(data.batches(worker, first_step=first_step))
    return [
        list(chain.from_iterable(next(shares).numpy().tolist() for _ in range(worker.replicas))) for _ in range(count)
    ]


@st.composite
def _runs(draw: st.DrawFn) -> tuple[int, int, int, int, int]:
    workers, replicas = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    global_batch = workers * replicas * draw(st.integers(1, 20))
    return draw(st.integers(1, 60)), global_batch, workers, replicas, draw(st.integers(0, 9))


@pytest.mark.counted
@settings(max_examples=counts.of(quick=2, nightly=100))
@given(_runs(), st.integers(0, 2**31))
def test_any_split_and_any_resume_sees_the_same_global_batches(run: tuple[int, int, int, int, int], seed: int) -> None:
    examples, global_batch, workers, replicas, first_step = run
    data = tensorplane.dataset(examples, lambda index: index, global_batch=global_batch, seed=seed)
    steps = 2 * data.steps_per_epoch + 1
    whole = _steps(data, _ALONE, steps)
    split = [_steps(data, _Worker(workers, index, replicas), steps) for index in range(workers)]
    assert [list(chain.from_iterable(shares)) for shares in zip(*split, strict=True)] == whole
    first_step = min(first_step, steps)
    assert _steps(data, _ALONE, steps - first_step, first_step) == whole[first_step:]
    seen = list(chain.from_iterable(whole))
    for epoch in range(2):
        assert sorted(seen[epoch * examples : (epoch + 1) * examples]) == list(range(examples))


class _CountedLoad:
    """Decodes in Python, and counts how often."""

    def __init__(self) -> None:
        self.calls: collections.Counter[int] = collections.Counter()

    def __call__(self, index: tf.Tensor) -> tf.Tensor:
        def decode(number: np.ndarray) -> np.ndarray:
            self.calls[int(number)] += 1
            return np.full(3, 10 * int(number), np.int32)

        return tf.ensure_shape(tf.numpy_function(decode, [index], tf.int32), [3])


def _with_lists(index: tf.Tensor) -> Any:
    number = tf.cast(index, tf.float32)
    return [tf.fill([3], number), tf.fill([3], -number)], {"pair": [number, number + 0.5], "one": index}


@pytest.mark.parametrize("batch", [4, 32])
@pytest.mark.parametrize("cached", [False, True])
def test_lists_in_samples_are_read_as_by_map(tmp_path: Path, batch: int, cached: bool) -> None:
    """Of both, also from the cache, and where a batch is joined from several calls."""
    cache = tmp_path if cached else None
    mapped = tf.data.Dataset.range(batch).map(_with_lists).batch(batch)
    ((vectors, rest),) = mapped.as_numpy_iterator()
    for augment in (None, lambda *sample, seed: [[*tf.unstack(sample[0])], sample[1]]):
        for _ in range(2):
            data = tensorplane.dataset(batch, _with_lists, global_batch=batch, seed=3, cache=cache, augment=augment)
            found, others = next(data.batches(_ALONE).as_numpy_iterator())
            order = others["one"]
            assert found.tolist() == vectors[order].tolist()
            assert others["pair"].tolist() == rest["pair"][order].tolist()


def test_a_list_of_unlike_tensors_inside_of_a_sample_is_refused() -> None:
    with pytest.raises(ValueError, match=r"load: returns a list inside of another structure.*; return a tuple"):
        tensorplane.dataset(3, lambda index: ([tf.zeros([3]), tf.zeros([5])], index), global_batch=1)


def _values(data: Inputs, worker: _Worker = _ALONE, first_step: int = 0) -> Iterator[np.ndarray]:
    return iter(data.batches(worker, first_step=first_step).as_numpy_iterator())


@pytest.fixture
def two_calls_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read ahead follows the number of cores otherwise."""
    monkeypatch.setattr(tf.data, "AUTOTUNE", 2)


@pytest.mark.usefixtures("two_calls_at_a_time")
def test_later_epochs_decode_nothing_and_see_the_same(tmp_path: Path) -> None:
    load, plain = _CountedLoad(), tensorplane.dataset(37, _CountedLoad(), global_batch=5, seed=3)
    data = tensorplane.dataset(37, load, global_batch=5, seed=3, cache=tmp_path, version="1")
    for with_cache, without in islice(zip(_values(data), _values(plain), strict=False), 16):
        assert with_cache.tolist() == without.tolist()
    assert set(load.calls) == set(range(37))
    # Calls that run at the same time may decode a sample twice around the end of an epoch.
    assert sum(load.calls.values()) <= 37 + 5 * 3


@pytest.mark.usefixtures("two_calls_at_a_time")
def test_workers_and_later_runs_share_the_cache(tmp_path: Path) -> None:
    def started(load: _CountedLoad) -> Inputs:
        return tensorplane.dataset(40, load, global_batch=8, seed=1, cache=tmp_path, version="1")

    loads = [_CountedLoad(), _CountedLoad()]
    workers = [_values(started(load), _Worker(2, index, 1)) for index, load in enumerate(loads)]
    expected = _values(tensorplane.dataset(40, _CountedLoad(), global_batch=8, seed=1))
    for _ in range(11):
        together = np.concatenate([next(worker) for worker in workers])
        assert together.tolist() == next(expected).tolist()
    later = _CountedLoad()
    restarted, whole = started(later), tensorplane.dataset(40, _CountedLoad(), global_batch=8, seed=1)
    # Segments that the first two had not ended are decoded again.
    assert {path.suffix for path in next(tmp_path.iterdir()).iterdir()} >= {".segment"}
    for resumed, step in islice(zip(_values(restarted, first_step=9), _values(whole, first_step=9), strict=False), 10):
        assert resumed.tolist() == step.tolist()
    assert sum(later.calls.values()) < 40


_DTYPES = (tf.bool, tf.uint8, tf.int8, tf.uint16, tf.int64, tf.float16, tf.bfloat16, tf.float32, tf.complex64)


def test_samples_of_all_types_and_shapes_come_back_bit_for_bit(tmp_path: Path) -> None:
    def load(number: tf.Tensor, name: tf.Tensor) -> Any:
        size = tf.strings.length(name)
        return {dtype.name: tf.cast(tf.fill([2, 1, 3], number % 2), dtype) for dtype in _DTYPES}, (number / 3, size)

    examples = (np.arange(6, dtype=np.int32), ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"])
    plain = tensorplane.dataset(examples, load, global_batch=4)
    cached = tensorplane.dataset(examples, load, global_batch=4, cache=tmp_path)
    for one, other in islice(zip(_values(plain), _values(cached), strict=False), 6):
        for left, right in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
            assert (left.dtype, left.shape) == (right.dtype, right.shape)
            assert left.tobytes() == right.tobytes()


def test_augmentation_is_new_in_each_epoch_and_the_same_after_a_resume(tmp_path: Path) -> None:
    data = tensorplane.dataset(
        12,
        lambda index: tf.cast(index, tf.float32),
        global_batch=4,
        augment=lambda value, seed: (value, tf.random.stateless_uniform([], seed)),
        cache=tmp_path,
    )
    steps = [batch[1].tolist() for batch in islice(_values(data), 6)]
    assert len(set(chain.from_iterable(steps))) == 24
    assert [batch[1].tolist() for batch in islice(_values(data, first_step=4), 2)] == steps[4:]


@pytest.mark.parametrize("cached", [False, True])
def test_layers_that_keep_tensors_of_their_first_call_serve_all_batches(tmp_path: Path, cached: bool) -> None:
    """Keras' Normalization with a given mean builds itself in the first graph that it is in."""
    before, after = (keras.layers.Normalization(mean=1.0, variance=4.0) for _ in range(2))
    data = tensorplane.dataset(
        tf.constant([[1.0], [3.0], [5.0], [7.0]]),
        lambda value: before(value[None])[0],
        augment=lambda value, seed: after(value[None])[0],
        global_batch=4,
        cache=tmp_path if cached else None,
    )
    strategy = tf.distribute.get_strategy()
    for first_step in (0, 1):  # as after a resume
        batch = next(iter(data.batches(strategy, first_step=first_step)))
        assert sorted(batch.numpy().ravel()) == [-0.5, 0.0, 0.5, 1.0]


def test_batches_go_to_a_strategy_of_several_replicas() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    data = tensorplane.dataset(64, lambda index: (index, -index), global_batch=32, seed=2)
    (first, second), expected = next(iter(data.batches(strategy))), data.order.at(tf.range(32, dtype=tf.int64))
    assert strategy.experimental_local_results(first)[0].numpy().tolist() == expected.numpy().tolist()
    assert strategy.experimental_local_results(second)[0].numpy().tolist() == (-expected).numpy().tolist()


@pytest.mark.parametrize(("examples", "global_batch", "steps"), [(100, 10, 10), (101, 10, 11), (3, 10, 1)])
def test_an_epoch_has_every_example_at_least_once(examples: int, global_batch: int, steps: int) -> None:
    assert tensorplane.dataset(examples, lambda index: index, global_batch=global_batch).steps_per_epoch == steps


def _unknown(index: tf.Tensor) -> tf.Tensor:
    return tf.range(index)


def _box() -> tf.Tensor:
    return tf.image.sample_distorted_bounding_box(tf.constant([9, 9, 3]), tf.zeros([1, 1, 4])).begin


_OFFSETS = tf.data.Dataset.range(3)
_SCALE = tf.Variable(2.0)


def _of_a_dataset(index: tf.Tensor) -> tf.Tensor:
    return _OFFSETS.reduce(index, lambda total, offset: total + offset)


@pytest.mark.parametrize(
    ("examples", "load", "says"),
    [
        (0, tf.identity, r"examples: have lengths \[0\]"),
        (([1, 2], [1]), lambda one, other: one, r"examples: have lengths \[1, 2\]; give the same number"),
        (5, _unknown, r"load: returns a tensor of unknown shape \(None,\).*tf.ensure_shape"),
        (5, lambda index: tf.strings.as_string(index), "cache: samples of string have no fixed size"),
        (5, lambda index: tf.random.uniform([]), "load: draws random numbers .RandomUniform.*`augment`"),
        (5, lambda index: tf.random.truncated_normal([]), "load: draws random numbers .TruncatedNormal.*`augment`"),
        (5, lambda index: tf.random.categorical([[0.0]], 1), "load: draws random numbers .Multinomial.*`augment`"),
        (5, lambda index: _box(), "load: draws random numbers .SampleDistortedBoundingBoxV2.*`augment`"),
        (5, _CountedLoad(), "load: calls Python code .PyFunc.*version='1'"),
        (["a", "b"], keras.layers.StringLookup(vocabulary=["a"]), "load: uses a variable or a lookup table.*version="),
        (5, lambda index: _SCALE * 2, "load: uses a variable or a lookup table, whose changes the cache cannot see"),
        (5, _of_a_dataset, "load: uses a tf.data.Dataset, whose changes the cache cannot see; set version='1'"),
    ],
)
def test_what_cannot_be_batched_or_cached_is_refused(examples: Any, load: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        tensorplane.dataset(examples, load, global_batch=1, cache=tmp_path)


def test_a_version_does_not_make_draws_repeatable(tmp_path: Path) -> None:
    generator, layer = tf.random.Generator.from_seed(1), keras.layers.RandomBrightness(0.1, seed=1)
    for load, says in (
        (lambda index: generator.uniform([]), "draws random numbers .RngReadAndSkip"),
        (lambda index: layer(tf.ones([2, 2, 3]), training=True), "changes a variable .Assign.*`augment`"),
    ):
        with pytest.raises(ValueError, match=says):
            tensorplane.dataset(5, load, global_batch=1, cache=tmp_path, version="1")


def _key(folder: Path, examples: Any, load: Callable[..., Any], version: str = "") -> str:
    """Under which name samples are cached."""
    before = set(folder.iterdir())
    tensorplane.dataset(examples, load, global_batch=1, cache=folder, version=version)
    found = set(folder.iterdir()) - before
    return found.pop().name if found else ""


def _scaled(by: float) -> Callable[[tf.Tensor], tf.Tensor]:
    def load(value: tf.Tensor) -> tf.Tensor:
        # Both create functions within the graph, whose names have numbers.
        mapped = tf.map_fn(lambda each: each * by, tf.stack([value, value]))
        return tf.cond(value > 0, lambda: mapped, lambda: -mapped)

    return load


def _in_turn(*steps: Callable[[tf.Tensor], tf.Tensor]) -> Callable[[tf.Tensor], tf.Tensor]:
    """Functions within the graph that have one name but for its number."""

    def load(value: tf.Tensor) -> tf.Tensor:
        for each in steps:
            value = tf.function(lambda one, step=each: step(one))(value)
        return tf.switch_case(tf.cast(value, tf.int32) % 2, [lambda: value, lambda: -value])

    return load


def test_functions_of_one_name_in_another_order_are_other_code(tmp_path: Path) -> None:
    def double(value: tf.Tensor) -> tf.Tensor:
        return value * 2

    def raised(value: tf.Tensor) -> tf.Tensor:
        return value + 1

    assert _key(tmp_path, [1.0, 2.0], _in_turn(double, raised))
    assert not _key(tmp_path, [1.0, 2.0], _in_turn(double, raised)), "traced again, it has the same fingerprint"
    assert _key(tmp_path, [1.0, 2.0], _in_turn(raised, double))


def test_the_same_code_and_examples_share_samples_and_others_do_not(tmp_path: Path) -> None:
    values = [1.0, 2.0]
    assert _key(tmp_path, values, _scaled(2))
    assert not _key(tmp_path, values, _scaled(2)), "traced again, it has the same fingerprint"
    assert _key(tmp_path, values, _scaled(3))
    assert _key(tmp_path, [1.0, 3.0], _scaled(2))
    assert _key(tmp_path, values, _scaled(2), version="2")
    assert _key(tmp_path, 2, lambda index: index)
    assert _key(tmp_path, 3, lambda index: index)


def test_a_dataset_of_ones_own_is_sharded_by_worker_and_not_again() -> None:
    shards = [tensorplane.shard(tf.data.Dataset.range(7), Place(2, index)) for index in range(2)]
    assert [list(each.as_numpy_iterator()) for each in shards] == [[0, 2, 4, 6], [1, 3, 5]]
    policy = shards[0].options().experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.OFF


def test_workers_without_python_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorplane.data.dataset.is_parameter_server", lambda strategy: True)
    with pytest.raises(ValueError, match=r"use tensorplane\.Order"):
        tensorplane.dataset(4, lambda index: index, global_batch=2).batches(_ALONE)
