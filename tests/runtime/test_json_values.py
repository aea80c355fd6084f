"""Values of callbacks come back as what they were."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import pathlib
import random
import threading
import uuid
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tensorplane.keras.json_values import NotSerializable, from_json, to_json


class Phase(enum.Enum):
    WARM = "warm"
    COLD = (1, 2)


class Parts(enum.Flag):
    HEAD = enum.auto()
    BODY = enum.auto()


@dataclasses.dataclass(frozen=True)
class Best:
    epoch: int
    values: dict[int, float]


Point = namedtuple("Point", "x y")


def module_function() -> None:
    """Kept by its name."""


_VALUES: list[Any] = [
    *(None, True, 3, 0.1, float("inf"), "", "text", [1, [2.5, None]], {"a": {"b": 1}}),
    *((1, 2), (), [(1,), [2]], {1: "one", (2, 3): "pair"}, {"": "empty key"}),
    *({1, 2}, frozenset({"a"}), deque([1, 2], maxlen=5), deque([1]), Counter({3: 2, "x": 1})),
    *(defaultdict(list, {1: [2]}), defaultdict(None, {"a": 1}), OrderedDict([("b", 1), ("a", 2)])),
    *(b"\x00\xff", bytearray(b"ab"), 1 + 2j, range(1, 9, 2), decimal.Decimal("1.10"), fractions.Fraction(1, 3)),
    *(
        pathlib.Path("/data/x"),
        uuid.UUID(int=5),
        datetime.datetime(2026, 11, 29, 5, 0, 0, 7),
        datetime.date(2026, 1, 2),
    ),
    *(datetime.time(3, 4), datetime.timedelta(days=1, microseconds=5), Phase.WARM, Phase.COLD, Parts.HEAD | Parts.BODY),
    *(Best(3, {1: 0.5}), Point(1, [2]), module_function, Best, keras.ops.less, np.less, len),
]


@pytest.mark.parametrize("value", _VALUES, ids=repr)
def test_a_value_comes_back_as_what_it_was(value: Any) -> None:
    back = from_json(json.loads(json.dumps(to_json(value))))
    assert back == value
    assert type(back) is type(value)
    if isinstance(value, deque):
        assert back.maxlen == value.maxlen
    if isinstance(value, defaultdict):
        assert back.default_factory is value.default_factory
    if isinstance(value, dict):
        assert list(back) == list(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0.1, np.inf]], np.float32),
        np.array(3.5),
        np.arange(3),
        np.array([1.5, -2], ml_dtypes.bfloat16),
        np.array(["ab", "c"]),
        np.array([b"ab"]),
        np.array([True]),
        np.array(["2026-11-29"], "datetime64[D]"),
        np.zeros((0, 2)),
        np.float32(0.1),
        np.int8(3),
        ml_dtypes.bfloat16(0.5),
    ],
    ids=repr,
)
def test_an_array_keeps_its_type_and_bits(array: Any) -> None:
    back = from_json(json.loads(json.dumps(to_json(array))))
    assert type(back) is type(array)
    assert back.dtype == array.dtype and back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_a_tensor_and_generators_go_on_where_they_were() -> None:
    tensor = tf.constant([1.5, 2], tf.bfloat16)
    back = from_json(json.loads(json.dumps(to_json(tensor))))
    assert back.dtype == tensor.dtype and bool(tf.reduce_all(back == tensor))
    for generator in (random.Random(3), np.random.default_rng(3)):
        generator.random()
        again = from_json(json.loads(json.dumps(to_json(generator))))
        assert [generator.random() for _ in range(3)] == [again.random() for _ in range(3)]


@pytest.mark.parametrize(
    "value", [threading.Lock(), lambda: 0, object(), [threading.Lock()], {"a": (1, {threading.Lock()})}], ids=repr
)
def test_what_cannot_be_kept_is_not_half_kept(value: Any) -> None:
    with pytest.raises(NotSerializable):
        to_json(value)
