"""Python values as JSON and back, without loss and without pickle, which would run whatever code a file names.

JSON's own types stand for themselves; each other value is an object with its kind under the empty key.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import random
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tensorplane.errors import TensorplaneError


class NotSerializable(TensorplaneError, TypeError):
    """A value of a type that is not kept, such as an open file. Its message is the type's name."""


def to_json(value: Any) -> Any:
    """What `json` can write. Raises NotSerializable."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [to_json(one) for one in value]
    if type(value) is dict and all(type(key) is str and key for key in value):
        return {key: to_json(one) for key, one in value.items()}
    for kind, (matches, write, _) in _KINDS.items():
        if matches(value):
            return {"": kind, **write(value)}
    raise NotSerializable(type(value).__name__)


def from_json(value: Any) -> Any:
    """The reverse of `to_json`. Raises NotSerializable if the program no longer has a value's class or function."""
    if isinstance(value, list):
        return [from_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "" not in value:
        return {key: from_json(one) for key, one in value.items()}
    return _KINDS[value[""]][2](value)


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


def _array(value: np.ndarray) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    # The name tells types that are not NumPy's own, such as bfloat16, from bytes.
    dtype = value.dtype.name if value.dtype.kind == "V" else value.dtype.str
    return {"dtype": dtype, "shape": list(value.shape), "data": data}


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray and not value.dtype.hasobject and value.dtype.names is None


def _from_array(value: Any) -> np.ndarray:
    data = base64.b64decode(value["data"])
    array: np.ndarray = np.frombuffer(data, np.dtype(value["dtype"])).reshape(value["shape"]).copy()
    return array


def _items(value: Any) -> list[Any]:
    return [[to_json(key), to_json(one)] for key, one in value.items()]


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    return [(from_json(key), from_json(one)) for key, one in value["items"]]


def _named(value: Any) -> dict[str, str]:
    return {"module": value.__module__, "name": value.__qualname__}


def _is_named(value: Any) -> bool:
    """Whether a module has this function or class under its name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return callable(value) and isinstance(module, str) and isinstance(name, str) and _found(module, name) is value


def _found(module: str, name: str) -> Any:
    """What a module of the program has under this name; None for nothing."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _by_name(value: Any, is_kind: Callable[[Any], bool] = callable) -> Any:
    """The class or function that a value names, if it is what the value's kind is made of: no file calls others."""
    found = _found(value["module"], value["name"])
    if found is None or not is_kind(found):
        raise NotSerializable(f"{value['module']}.{value['name']} is missing, or something else now")
    return found


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _is_tuple_class(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_dataclass(kind: Any) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _is_plain_moment(value: Any) -> bool:
    """Whether ISO 8601 says all of a time."""
    return not value.fold and (value.tzinfo is None or type(value.tzinfo) is datetime.timezone)


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type) and _is_named(type(value))


def _fields(value: Any) -> dict[str, Any]:
    names = [one.name for one in dataclasses.fields(value)]
    more = [name for name in getattr(value, "__dict__", {}) if name not in names]
    return {name: getattr(value, name) for name in [*names, *more] if hasattr(value, name)}


def _from_record(value: Any) -> Any:
    made = object.__new__(_by_name(value, _is_dataclass))
    for name, one in from_json(value["fields"]).items():
        # Also if it is frozen.
        object.__setattr__(made, name, one)
    return made


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields") and _is_named(type(value))


def _from_generator(value: Any) -> np.random.Generator:
    state = from_json(value["state"])
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def _from_random(value: Any) -> random.Random:
    made = random.Random()  # it is the user's
    made.setstate(from_json(value["state"]))
    return made


def _in_a_list(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: make(from_json(value["values"]))


def _listed(value: Any) -> dict[str, Any]:
    return {"values": [to_json(one) for one in value]}


def _as_text(make: Callable[[str], Any], write: Callable[[Any], str] = str) -> Any:
    return lambda value: {"text": write(value)}, lambda value: make(value["text"])


_KINDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], dict[str, Any]], Callable[[Any], Any]]] = {
    "array": (_is_array, _array, _from_array),
    "number": (
        lambda value: isinstance(value, np.generic) and not value.dtype.hasobject,
        lambda value: _array(np.asarray(value)),
        lambda value: _from_array(value)[()],
    ),
    "tensor": (
        lambda value: isinstance(value, tf.Tensor) and not tf.is_symbolic_tensor(value) and value.dtype != tf.string,
        lambda value: _array(np.asarray(value)),
        lambda value: tf.constant(_from_array(value)),
    ),
    "enum": (
        lambda value: isinstance(value, enum.Enum) and _is_named(type(value)),
        lambda value: _named(type(value)) | {"value": to_json(value.value)},
        lambda value: _by_name(value, _is_enum)(from_json(value["value"])),
    ),
    "tuple": (_is(tuple), _listed, _in_a_list(tuple)),
    "named tuple": (
        _is_named_tuple,
        lambda value: _named(type(value)) | _listed(value),
        lambda value: _by_name(value, _is_tuple_class)(*from_json(value["values"])),
    ),
    "set": (_is(set), _listed, _in_a_list(set)),
    "frozenset": (_is(frozenset), _listed, _in_a_list(frozenset)),
    "deque": (
        _is(deque),
        lambda value: _listed(value) | {"most": value.maxlen},
        lambda value: deque(from_json(value["values"]), value["most"]),
    ),
    "dict": (_is(dict), lambda value: {"items": _items(value)}, lambda value: dict(_pairs(value))),
    "counter": (_is(Counter), lambda value: {"items": _items(value)}, lambda value: Counter(dict(_pairs(value)))),
    "ordered": (_is(OrderedDict), lambda value: {"items": _items(value)}, lambda value: OrderedDict(_pairs(value))),
    "defaults": (
        _is(defaultdict),
        lambda value: {"items": _items(value), "default": to_json(value.default_factory)},
        lambda value: defaultdict(from_json(value["default"]), _pairs(value)),
    ),
    "bytes": (
        _is(bytes),
        lambda value: {"data": base64.b64encode(value).decode()},
        lambda value: base64.b64decode(value["data"]),
    ),
    "bytearray": (
        _is(bytearray),
        lambda value: {"data": base64.b64encode(value).decode()},
        lambda value: bytearray(base64.b64decode(value["data"])),
    ),
    "complex": (
        _is(complex),
        lambda value: {"parts": [value.real, value.imag]},
        lambda value: complex(*value["parts"]),
    ),
    "range": (
        _is(range),
        lambda value: {"ends": [value.start, value.stop, value.step]},
        lambda value: range(*value["ends"]),
    ),
    "decimal": (_is(decimal.Decimal), *_as_text(decimal.Decimal)),
    "fraction": (_is(fractions.Fraction), *_as_text(fractions.Fraction)),
    "path": (lambda value: isinstance(value, pathlib.Path), *_as_text(pathlib.Path)),
    "uuid": (_is(uuid.UUID), *_as_text(uuid.UUID)),
    "datetime": (
        lambda value: type(value) is datetime.datetime and _is_plain_moment(value),
        *_as_text(datetime.datetime.fromisoformat, datetime.datetime.isoformat),
    ),
    "date": (_is(datetime.date), *_as_text(datetime.date.fromisoformat, datetime.date.isoformat)),
    "time": (
        lambda value: type(value) is datetime.time and _is_plain_moment(value),
        *_as_text(datetime.time.fromisoformat, datetime.time.isoformat),
    ),
    "timedelta": (
        _is(datetime.timedelta),
        lambda value: {"parts": [value.days, value.seconds, value.microseconds]},
        lambda value: datetime.timedelta(*value["parts"]),
    ),
    "random": (_is(random.Random), lambda value: {"state": to_json(value.getstate())}, _from_random),
    "generator": (
        _is(np.random.Generator),
        lambda value: {"state": to_json(value.bit_generator.state)},
        _from_generator,
    ),
    "record": (
        _is_record,
        lambda value: _named(type(value)) | {"fields": to_json(_fields(value))},
        _from_record,
    ),
    "function": (_is_named, _named, _by_name),
}
"""By kind: whether a value is one, what is written of it, and how it is made again. The first that matches counts."""
