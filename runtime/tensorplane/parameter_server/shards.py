"""Keras 3 models whose variables are divided over parameter servers.

TensorFlow divides a large variable into shards (`ShardedVariable`). Keras 3 does not know them: its gradients and
optimizers need whole variables. Here a worker's step reads each divided variable once, into a local copy, and takes
the gradient of that. An optimizer has the shards of its slots on the servers of the variable's shards, and updates each
shard there.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import tensorflow as tf

from tensorplane.errors import UsageError

_OPTIMIZERS = ("SGD", "Adam", "AdamW", "Adamax", "Nadam", "RMSprop", "Adagrad", "Adadelta", "Ftrl", "Lion")
"""Optimizers of Keras that update each element by itself, so that they can update parts of a variable."""
_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""The name with which TensorFlow creates a resource that lives as long as its handle."""


_DIVIDED: list[weakref.ref[Any]] = []
"""Keras' trainable variables that are divided. They cannot be hashed, hence no WeakSet."""


class UnsupportedByShards(UsageError):
    """A model or an optimizer that does not work with divided variables."""


def shards_of(variable: Any) -> Any | None:
    """The ShardedVariable behind a variable of Keras or TensorFlow; None if it is not divided."""
    value = getattr(variable, "_value", variable)
    if container := getattr(value, "_sharded_container", None):
        return container()
    return value if getattr(value, "is_sharded_variable", False) else None


@contextmanager
def local_copies() -> Iterator[None]:
    """While a step is traced, divided variables of Keras are copies on the worker, read from the servers once."""
    alive = [variable for ref in _DIVIDED if (variable := ref()) is not None]
    divided = [(variable, whole) for variable in alive if (whole := shards_of(variable)) is not None]
    for variable, whole in divided:
        variable._value = _copy(whole)
    try:
        yield
    finally:
        for variable, whole in divided:
            variable._value = whole


def _copy(whole: Any) -> Any:
    from tensorflow.python.ops.resource_variable_ops import VariableSpec

    handle = tf.raw_ops.VarHandleOp(dtype=whole.dtype, shape=whole.shape, shared_name=_ANONYMOUS)
    tf.raw_ops.AssignVariableOp(resource=handle, value=tf.concat([shard.read_value() for shard in whole.variables], 0))
    copy = VariableSpec(whole.shape, whole.dtype, trainable=True)._from_components([handle])
    # The optimizer finds the shards by it, as TensorFlow finds the container of a shard.
    copy._sharded_container = weakref.ref(whole)
    return copy


def install() -> None:
    """Teaches Keras' variables and optimizers divided variables; others work as before.

    Raises ImportError or AttributeError if the installed Keras has another shape.
    """
    core, optimizer = (import_module(f"keras.src.backend.tensorflow.{name}") for name in ("core", "optimizer"))

    if not getattr(optimizer.TFOptimizer, "_knows_shards", False):
        _install_in_variables(core.Variable)
        _install_in_optimizers(optimizer.TFOptimizer)


def _install_in_variables(kind: Any) -> None:
    initialize, serialize, restore = (
        kind._initialize,
        kind._serialize_to_tensors,
        kind._restore_from_tensors,
    )

    def _initialize(self: Any, value: Any) -> None:
        initialize(self, value)
        if shards_of(self) is not None and self.trainable:
            _DIVIDED.append(weakref.ref(self))

    def _serialize_to_tensors(self: Any) -> dict[str, Any]:
        whole = shards_of(self)
        return serialize(self) if whole is None else {"VARIABLE_VALUE": tf.convert_to_tensor(whole)}

    def _restore_from_tensors(self: Any, restored_tensors: dict[str, Any]) -> Any:
        whole = shards_of(self)
        if whole is None:
            return restore(self, restored_tensors)
        # Written whole, a checkpoint fits any number of servers.
        value = tf.ensure_shape(restored_tensors["VARIABLE_VALUE"], whole.shape)
        for shard, part in zip(whole.variables, tf.split(value, _sizes(whole)), strict=True):
            shard.assign(part)
        return whole

    def add(sign: int) -> Any:
        # Keras assigns the sum, which loses what another worker has added in between.
        def assign_add(self: Any, value: Any) -> Any:
            if _is_on_server(self._value):
                return self._value.assign_add(sign * tf.cast(value, self._value.dtype))
            return self.assign(self + sign * value)

        return assign_add

    kind._initialize = _initialize
    kind._serialize_to_tensors, kind._restore_from_tensors = _serialize_to_tensors, _restore_from_tensors
    kind.assign_add, kind.assign_sub = add(1), add(-1)


def _is_on_server(value: Any) -> bool:
    return "/job:ps/" in str(getattr(value, "device", ""))


def _install_in_optimizers(kind: Any) -> None:
    add, key, update = kind.add_variable_from_reference, kind._var_key, kind._backend_update_step
    decay = kind._apply_weight_decay

    def add_variable_from_reference(self: Any, reference_variable: Any, *args: Any, **kwargs: Any) -> Any:
        whole = shards_of(reference_variable)
        if whole is None:
            return add(self, reference_variable, *args, **kwargs)
        refuse(self, reference_variable)
        with self._distribution_strategy.scope(), tf.variable_creator_scope(_beside(whole)):
            slot = super(kind, self).add_variable_from_reference(reference_variable, *args, **kwargs)
        slot._slot_of = whole._unique_id
        return slot

    def _var_key(self: Any, variable: Any) -> Any:
        whole = shards_of(variable)
        return key(self, variable) if whole is None else whole._unique_id

    def _backend_update_step(self: Any, grads: Any, trainable_variables: Any, learning_rate: Any) -> None:
        pairs = list(zip(grads, trainable_variables, strict=True))
        if whole := [(grad, variable) for grad, variable in pairs if shards_of(variable) is None]:
            update(self, *zip(*whole, strict=True), learning_rate)
        divided = [(grad, shards_of(variable)) for grad, variable in pairs if shards_of(variable) is not None]
        if divided:
            _merge(self, _update_shards, self, divided, learning_rate)

    def _apply_weight_decay(self: Any, variables: Any) -> None:
        if self.weight_decay is None:
            return
        decay(self, [variable for variable in variables if shards_of(variable) is None])
        divided = [variable for variable in variables if shards_of(variable) is not None]
        rate = tf.cast(self.learning_rate, tf.float32) * self.weight_decay
        _merge(self, _decay_shards, [shards_of(each) for each in divided if self._use_weight_decay(each)], rate)

    kind.add_variable_from_reference = add_variable_from_reference
    kind._var_key = _var_key
    kind._backend_update_step = _backend_update_step
    kind._apply_weight_decay = _apply_weight_decay
    kind._knows_shards = True


def refuse(optimizer: Any, variable: Any) -> None:
    """Raises UnsupportedByShards if this optimizer cannot update the variable's shards one by one."""
    kind = type(optimizer).__name__
    remedy = "create the strategy with tensorplane.parameter_server.strategy(divide=False)"
    if kind not in _OPTIMIZERS:
        raise UnsupportedByShards(f"optimizer: {kind} is not known to update parts of a variable; {remedy}")
    for setting in ("use_ema", "gradient_accumulation_steps"):
        if getattr(optimizer, setting, None):
            raise UnsupportedByShards(f"optimizer: {setting} does not work with divided variables; {remedy}")
    if getattr(variable, "constraint", None) is not None:
        raise UnsupportedByShards(f"{variable.path}: its constraint needs the whole variable; {remedy}")


def _merge(optimizer: Any, function: Any, *args: Any) -> None:
    tf.__internal__.distribute.interim.maybe_merge_call(function, optimizer._distribution_strategy, *args)


def _beside(whole: Any) -> Any:
    """A creator of variables that are divided as `whole` is, each shard on the server of its counterpart."""

    def create(next_creator: Any, **kwargs: Any) -> Any:
        initial, name = kwargs.pop("initial_value"), kwargs.pop("name", None) or "slot"
        parts = tf.split(initial() if callable(initial) else initial, _sizes(whole))
        return type(whole)(
            [
                next_creator(**kwargs, initial_value=part, name=f"{name}/part_{index}", colocate_with=shard)
                for index, (part, shard) in enumerate(zip(parts, whole.variables, strict=True))
            ],
            name=name,
        )

    return create


def _sizes(whole: Any) -> list[int]:
    return [int(shard.shape[0]) for shard in whole.variables]


def _update_shards(strategy: Any, optimizer: Any, pairs: Sequence[tuple[Any, Any]], learning_rate: Any) -> None:
    for grad, whole in pairs:
        slots = [each for each in optimizer.variables if getattr(each, "_slot_of", None) == whole._unique_id]
        sparse = isinstance(grad, tf.IndexedSlices)
        parts = whole._decompose_indexed_slices(grad) if sparse else tf.split(grad, _sizes(whole))
        for index, (part, shard) in enumerate(zip(parts, whole.variables, strict=True)):

            def step(variable: Any, part: Any, index: int = index, slots: Sequence[Any] = slots) -> None:
                with _at_shard(slots, index):
                    optimizer.update_step(part, variable, learning_rate)

            strategy.extended.update(shard, step, args=(part,), group=False)


def _decay_shards(strategy: Any, divided: Sequence[Any], rate: Any) -> None:
    for whole in divided:
        for shard in whole.variables:
            strategy.extended.update(
                shard, lambda variable: variable.assign_sub(variable * tf.cast(rate, variable.dtype)), group=False
            )


@contextmanager
def _at_shard(slots: Sequence[Any], index: int) -> Iterator[None]:
    """The slots of a divided variable as those of one shard."""
    with ExitStack() as stack:
        for slot in slots:
            stack.callback(setattr, slot, "_value", slot._value)
            slot._value = slot._value.variables[index]
        yield
