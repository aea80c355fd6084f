"""What tests of the library leave as it was, and what several of them begin with."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.datasets import Dataset


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """A dataset without a version."""
    return Dataset(tmp_path / "dataset")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture(autouse=True)
def _own_sigterm() -> Iterator[None]:
    """A `fit` in this process takes SIGTERM, which is to end the tests with their clusters."""
    handler, blocked = signal.getsignal(signal.SIGTERM), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    signal.set_wakeup_fd(wakeup := signal.set_wakeup_fd(-1))
    yield
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGTERM, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@pytest.fixture(autouse=True, scope="module")
def _no_autotuning() -> Iterator[None]:
    """Deleting an iterator of tf.data now and then waits for its autotuning, up to a minute, which no test is about.

    Every iterator is made from what `_apply_debug_options` returns.
    """
    if "tensorflow" not in sys.modules:  # tests that need none start without it
        yield
        return
    import tensorflow as tf
    from tensorflow.python.data.ops import dataset_ops

    def without(dataset: tf.data.Dataset) -> tf.data.Dataset:
        options = tf.data.Options()
        options.autotune.enabled = False
        return dataset.with_options(options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset_ops.DatasetV2, "_apply_debug_options", without)
        yield
