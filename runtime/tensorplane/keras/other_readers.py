"""Says when a callback reads the shuffled data of training, which gives training another order after a restart."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import tensorflow as tf

from tensorplane.keras import repeatable
from tensorplane.log import warn

_own: list[object] = []
"""Who reads the data for training now."""


@contextmanager
def reads_for_training(reader: object) -> Iterator[None]:
    """In this block, what is read is read for training or its validation."""
    _own.append(reader)
    try:
        yield
    finally:
        _own.pop()


@contextmanager
def report_other_readers(dataset: Any) -> Iterator[None]:
    """In this block, a line says if something else than training begins to read what shuffles the dataset."""
    shuffles = repeatable.reshuffled(dataset)
    original = tf.data.Dataset.__iter__
    known = False

    @functools.wraps(original)
    def begin(self: Any) -> Any:
        nonlocal known
        if not (known or _own) and any(one is other for one in repeatable.reshuffled(self) for other in shuffles):
            known = True
            warn(
                "dataset: is read outside of training too, so its order may differ after a restart; give callbacks a "
                "dataset of their own, with a shuffle of its own"
            )
        return original(self)

    with patch.object(tf.data.Dataset, "__iter__", begin):
        yield
