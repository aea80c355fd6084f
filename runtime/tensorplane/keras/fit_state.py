"""What a resumed `fit` needs besides model and optimizer: position, metrics of the epoch, state of callbacks."""

from __future__ import annotations

import functools
import inspect
import json
import logging
import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensorplane import seeds
from tensorplane.keras import shared_values
from tensorplane.keras.json_values import NotSerializable, from_json, to_json
from tensorplane.keras.optimizers import optimizers_of
from tensorplane.keras.replicas import several
from tensorplane.log import warn

POSITION = (
    *("step", "epoch", "step_in_epoch", "iterators", "taken", "finished", "validations"),
    *("stopped", "unread", "unread_validations", "epochs"),
)

_OF_KERAS = ("params", "model", "_model", "validation_data")
"""Attributes that Keras gives every callback."""

_OF_TRAINER = ("stop_training", "stop_evaluating", "stop_predicting", "_initial_epoch", "_self_update_uid")
"""Attributes that Keras gives a model while it trains."""

_WITHOUT_STATE = (ModuleType, type, logging.Logger, tf.data.Dataset, tf.distribute.Strategy)
"""What a program makes again."""


_LOSS = "loss"
"""Kind of an attribute that is a loss: what is kept are its variables."""

_LOGS, _CAPTURED, _RANDOM, _MODEL = "logs", "captured variables", "random states", "numbers of the model"
"""Kinds of entries among those of callbacks; no class has such a name."""


class FitState(tf.Module):  # type: ignore[misc]  # TensorFlow has no types
    """Variables that are saved with the model."""

    def __init__(self) -> None:
        super().__init__(name="fit")
        # A checkpoint of an earlier version has fewer numbers.
        self.position = tf.Variable(tf.zeros([len(POSITION)], tf.int64), trainable=False, shape=[None])
        self.metrics = tf.Variable(tf.zeros([0, 0], tf.float64), trainable=False, shape=[None, None])
        self.callbacks = tf.Variable(tf.zeros([0], tf.uint8), trainable=False, shape=[None])

    def at(self) -> dict[str, int]:
        """The position, by name."""
        return dict.fromkeys(POSITION, 0) | dict(zip(POSITION, self.position.numpy().tolist(), strict=False))

    def move(self, **position: int) -> None:
        """Sets the position."""
        self.position.assign([int(position[name]) for name in POSITION])

    def remember(self, callbacks: Sequence[Any], logs: Any = None, captured: Sequence[Any] = ()) -> None:
        """Takes what `CallbackStates.changed` has returned, and the logs of the step before, if that ended its epoch.

        `captured`: what `Captured.values` has returned.
        """
        values = tf.nest.map_structure(lambda value: to_json(np.asarray(value)), logs or {})
        more = {_LOGS: values, _CAPTURED: list(captured)}
        entries = [*callbacks, *(_entry(kind, changed) for kind, changed in more.items() if changed)]
        self.callbacks.assign(np.frombuffer(json.dumps(entries).encode(), np.uint8))

    def logs(self) -> Any:
        """The logs that `remember` got; None if it got none."""
        return from_json(self._found(_LOGS))

    def captured(self) -> list[Any]:
        """The values of captured variables that `remember` got."""
        return self._found(_CAPTURED) or []

    def _found(self, kind: str) -> Any:
        return next((entry["changed"] for entry in self.remembered() if entry.get("kind") == kind), None)

    def remembered(self) -> list[Any]:
        """What `remember` got."""
        text = self.callbacks.numpy().tobytes()
        found: list[Any] = json.loads(text) if text else []
        return found


class CallbackStates:
    """The other callbacks of a `fit`: what they have changed since training began."""

    def __init__(self, callbacks: Sequence[Any], model: Any = None, *, python_data: bool = False) -> None:
        """`model`: the one that trains, which has a checkpoint of its own. `python_data`: Python code yields its data,
        is read ahead, and replays what it drew from the program's seed: the states of generators are not for it.
        """
        self._callbacks, self._model = list(callbacks), model
        self._initial = [_kept(one) for one in callbacks]
        self._random, self._numbers, self._told = _random_states(), _numbers(model), False
        self._python_data = python_data
        self._begin_again: set[int] = set()

    def state(self) -> list[dict[str, Any]]:
        """The attributes of each callback that are kept, as JSON."""
        return [_kept(one) for one in self._callbacks]

    def changed(self) -> list[Any]:
        """For each callback its class and the attributes that differ from those at the begin of training, as JSON."""
        found = []
        for one, before in zip(self._callbacks, self._initial, strict=True):
            kept = _kept(one)
            changed = {name: value for name, value in kept.items() if before.get(name, ...) != value}
            found.append({"kind": _kind(one), "changed": changed, "lost": bool(self._lost(one, kept))})
        if not self._python_data and (states := _random_states()) != self._random:
            found.append(_entry(_RANDOM, states))
        if numbers := self._changed_numbers():
            found.append(_entry(_MODEL, numbers))
        return found

    def _changed_numbers(self) -> dict[str, Any]:
        """The model's attributes that are numbers or text and have changed. A compiled step has those of its trace."""
        changed = {name: one for name, one in _numbers(self._model).items() if self._numbers.get(name, ...) != one}
        if not changed or self._model.run_eagerly:
            return changed
        if not self._told:
            self._told = True
            warn(f"model: {', '.join(changed)} changed during training and will be lost when it resumes; use variables")
        return {}

    def remind(self, remembered: Sequence[Any]) -> None:
        """Gives the callbacks what `changed` returned, each what the next of its class had."""
        left = [self._as_entry(*each) for each in enumerate(remembered)]
        for entry in left:
            if entry["kind"] == _RANDOM:
                _set_random_states(entry["changed"])
            elif entry["kind"] == _MODEL:
                for name, value in entry["changed"].items():
                    setattr(self._model, name, value)
        for one in self._callbacks:
            entry = next((entry for entry in left if entry["kind"] == _kind(one)), None)
            if entry is None:
                # It has come to the program since.
                self._begin_again.add(id(one))
                continue
            left.remove(entry)
            given = [self._give(one, name, kept) for name, kept in entry["changed"].items()]
            if entry["lost"] or not all(given):
                self._begin_again.add(id(one))

    def _as_entry(self, index: int, entry: Any) -> Any:
        """An entry; one of an earlier version has the changed attributes alone, in the order of the callbacks."""
        if "kind" in entry and "changed" in entry:
            return entry
        kind = _kind(self._callbacks[index]) if index < len(self._callbacks) else ""
        # Which of its attributes were left out is unknown.
        return {"kind": kind, "changed": entry, "lost": not kind.startswith("keras.")}

    def begins_again(self, callback: Any) -> bool:
        """Whether a callback has state that was not kept, so that it must begin a begun epoch once more."""
        return id(callback) in self._begin_again

    def not_kept(self) -> list[str]:
        """The attributes that are lost when training resumes: `Class.attribute (type)`."""
        found = [(type(one).__name__, *each) for one in self._callbacks for each in self._lost(one, _kept(one))]
        return [f"{owner}.{name} ({kind})" for owner, name, kind in found]

    def _lost(self, callback: Any, kept: Mapping[str, Any]) -> list[tuple[str, str]]:
        """A callback's own attributes that may have state and are not kept. Keras' callbacks have none."""
        if type(callback).__module__.startswith("keras."):
            return []
        return [
            (name, type(value).__name__)
            for name, value in _attributes(callback)
            if name in vars(callback)
            and name not in kept
            and not inspect.isroutine(value)
            and not self._is_saved(value)
        ]

    def _is_saved(self, value: Any) -> bool:
        """Whether it has no state, or is a part of the model."""
        if isinstance(value, _WITHOUT_STATE) or self._model is None:
            return isinstance(value, _WITHOUT_STATE)
        parts = [*self._model._flatten_layers(), *self._model.metrics, *optimizers_of(self._model)]
        return any(value is part for part in parts)

    def _give(self, callback: Any, name: str, kept: Any) -> bool:
        """Sets an attribute; False if the program has no longer what its value is made of."""
        now = dict(_attributes(callback)).get(name)
        try:
            if isinstance(kept, dict) and kept.get("") == "variable":
                variable: Any = now
                if _is_variable(variable):
                    variable.assign(from_json(kept["value"]))
            elif isinstance(kept, dict) and kept.get("") == _LOSS:
                for variable, value in zip(_variables_of(now), kept["values"], strict=True):
                    variable.assign(from_json(value))
            elif not _refilled(now, value := from_json(kept)):
                if not name.isidentifier():
                    raise NotSerializable("it is no longer in the program")
                setattr(callback, name, value)
        except (NotSerializable, ValueError) as error:
            warn(f"callbacks: {type(callback).__name__}.{name} is not restored ({error}); it starts as in a new run")
            return False
        return True


def _entry(kind: str, changed: Any) -> dict[str, Any]:
    return {"kind": kind, "changed": changed, "lost": False}


def _kind(callback: Any) -> str:
    return f"{type(callback).__module__}.{type(callback).__qualname__}"


def _attributes(callback: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of a callback, and what it shares with its class and the program."""
    yield from shared_values.of(callback)
    for owner in reversed(type(callback).__mro__):
        if not owner.__module__.startswith(("keras.", "builtins", "tensorplane.")):
            yield from ((name, one) for name, one in vars(owner).items() if _is_shared(name, one, callback))
    yield from _own_attributes(callback)


def _is_shared(name: str, value: Any, callback: Any) -> bool:
    """Whether an attribute of a class is a container of all its callbacks."""
    is_container = isinstance(value, shared_values.CONTAINERS)
    return is_container and name not in vars(callback) and not name.startswith("__")


def _own_attributes(callback: Any) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in vars(callback).items() if name not in _OF_KERAS)


def _kept(callback: Any) -> dict[str, Any]:
    """The attributes of a callback that are kept, as JSON."""
    found = {}
    for name, value in _attributes(callback):
        try:
            if isinstance(value, keras.losses.Loss):
                found[name] = {"": _LOSS, "values": [to_json(_read(one)) for one in _variables_of(value)]}
            elif _is_variable(value):
                found[name] = {"": "variable", "value": to_json(_read(value))}
            else:
                found[name] = to_json(value)
        except (NotSerializable, RecursionError):
            continue
    return found


def _refilled(now: Any, value: Any) -> bool:
    """Gives a container another's content: the program may have it elsewhere too. False if that cannot be."""
    if type(now) is not type(value):
        return False
    if isinstance(value, list):
        now[:] = value
    elif isinstance(value, (dict, set)):
        now.clear()
        now.update(value)
    elif isinstance(value, deque) and now.maxlen == value.maxlen:
        now.clear()
        now.extend(value)
    else:
        return False
    return True


def _variables_of(owner: Any) -> list[Any]:
    """The variables that an object has as attributes, in their order."""
    return [value for value in vars(owner).values() if _is_variable(value)] if hasattr(owner, "__dict__") else []


def _random_states() -> dict[str, Any]:
    """The states of Python's, NumPy's and TensorFlow's global generators, as JSON."""
    own = seeds.generator()
    states = random.getstate(), np.random.get_state(), own and own.getstate()
    return dict(zip(("random", "numpy", "tensorflow"), map(to_json, states), strict=True))


def _set_random_states(states: Mapping[str, Any]) -> None:
    random.setstate(from_json(states["random"]))
    np.random.set_state(from_json(states["numpy"]))
    # A checkpoint of an earlier version has none of TensorFlow's.
    if states.get("tensorflow") and (own := seeds.generator()):
        own.setstate(from_json(states["tensorflow"]))


def _numbers(model: Any) -> dict[str, Any]:
    """The attributes of a model that are numbers or text, but for Keras' own."""
    if model is None:
        return {}
    own = _of_any_model()
    return {name: one for name, one in vars(model).items() if type(one) in (bool, int, float, str) and name not in own}


@functools.cache
def _of_any_model() -> frozenset[str]:
    """The attributes that Keras gives every model."""
    # With a name, so that it takes none of those that Keras counts.
    return frozenset((*vars(keras.Model(name="any")), *_OF_TRAINER))


def _is_variable(value: Any) -> bool:
    return isinstance(value, (tf.Variable, keras.Variable))


def _read(variable: Any) -> np.ndarray:
    return np.asarray(variable.numpy())


class LocalMetrics:
    """What each replica has counted in the epoch so far. Sums over replicas would lose the last digits."""

    def __init__(self, model: Any) -> None:
        self._strategy = model.distribute_strategy
        self.variables = [variable.value for metric in model.metrics for variable in metric.variables]
        self._sizes = [int(np.prod(one.shape)) for one in self.variables]

    def read(self) -> np.ndarray:
        """A row for each replica. All workers must call it."""
        if not self.variables:
            return np.zeros([1, 0])
        return np.asarray(self._strategy.experimental_local_results(self._gather())[0])

    def write(self, rows: np.ndarray) -> None:
        """The reverse. With another number of replicas, the first gets the sum."""
        count = self._strategy.num_replicas_in_sync
        if rows.shape[0] != count:
            rows = np.concatenate([rows.sum(axis=0, keepdims=True), np.zeros([count - 1, rows.shape[1]])])
        if rows.shape[1] and rows.shape[1] < sum(self._sizes):
            rows = self._completed(rows)
        if rows.shape[1]:
            self._scatter(tf.constant(rows, tf.float64))

    def _completed(self, rows: np.ndarray) -> np.ndarray:
        """Rows of an earlier version, which kept numbers alone: the other columns are as they are."""
        numbers = [one.dtype.is_floating or one.dtype.is_integer for one in self.variables]
        whole = np.array(self.read())
        whole[:, np.repeat(numbers, self._sizes)] = rows
        return whole

    # Concrete functions: of the others, TensorFlow says in the fifth fit of a program that they are traced too often.
    @functools.cached_property
    def _gather(self) -> Any:
        return tf.function(lambda: self._strategy.run(self._gathered)).get_concrete_function()

    @functools.cached_property
    def _scatter(self) -> Any:
        rows = tf.TensorSpec([self._strategy.num_replicas_in_sync, sum(self._sizes)], tf.float64)
        return tf.function(lambda rows: self._strategy.run(self._assign, args=(rows,))).get_concrete_function(rows)

    def _gathered(self) -> tf.Tensor:
        row = tf.concat([tf.reshape(tf.cast(one, tf.float64), [1, -1]) for one in self.variables], axis=1)
        context = tf.distribute.get_replica_context()
        return context.all_gather(row, axis=0) if several(self._strategy) else row

    def _assign(self, rows: tf.Tensor) -> None:
        row = rows[tf.distribute.get_replica_context().replica_id_in_sync_group]
        for variable, value in zip(self.variables, tf.split(row, self._sizes), strict=True):
            variable.assign(tf.cast(tf.reshape(value, variable.shape), variable.dtype))
