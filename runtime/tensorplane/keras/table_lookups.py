"""Which rows of an embedding table a step looks up: the same on all replicas, as the positions of a sequence, or each
once.
"""

from __future__ import annotations

import tensorflow as tf

from tensorplane.keras.replicas import summed

_SAME_VALUES = ("Cast", "Identity", "Reshape")


def is_row_independent(tensor: tf.Tensor) -> bool:
    """Whether no sample, and not their number, decides the tensor's values. All replicas must call it."""
    if tf.is_symbolic_tensor(tensor):
        return not _reaches_a_batch(tensor)
    return _same_everywhere(tensor)


def are_unique(tensor: tf.Tensor) -> bool:
    """Whether the step makes the tensor's values unique. Eagerly that cannot be known."""
    if not tf.is_symbolic_tensor(tensor):
        return False
    while tensor.op.type in _SAME_VALUES:
        tensor = tensor.op.inputs[0]
    return bool(tensor.op.type in ("Unique", "UniqueV2"))


def lookups_of(tensor: tf.Tensor) -> list[tf.Tensor]:
    """The rows of each lookup whose rows are all in the tensor, as in the gradient of a table that a step reads twice.

    Eagerly they cannot be told apart.
    """
    if not tf.is_symbolic_tensor(tensor):
        return [tensor]
    found = tensor
    while found.op.type in _SAME_VALUES and found.op.inputs[0].shape.rank == 1:
        found = found.op.inputs[0]
    if found.op.type != "ConcatV2" or found.shape.rank != 1:
        return [tensor]
    return [lookup for part in found.op.inputs[:-1] for lookup in lookups_of(part)]


def _reaches_a_batch(tensor: tf.Tensor) -> bool:
    """Whether an argument of the function that is traced decides the tensor, other than by the sizes of a sample."""
    captured = {id(inner) for _, inner in getattr(tensor.graph, "captures", ())}
    waiting, seen = [tensor], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen or id(one) in captured:
            continue
        seen.add(id(one))
        # A random number, or a variable, may be another in each replica.
        if one.op.type in ("Placeholder", "PlaceholderWithDefault") or one.op.op_def.is_stateful:
            return True
        if not _is_size_of_a_sample(one):
            waiting += one.op.inputs
    return False


def _is_size_of_a_sample(tensor: tf.Tensor) -> bool:
    """Whether it is a dimension of a tensor, but for the first, which is the number of samples."""
    op = tensor.op
    if op.type not in ("StridedSlice", "Unpack") or op.inputs[0].op.type != "Shape":
        return False
    if op.type == "Unpack":
        return bool(tensor.value_index >= 1)
    begin, rank = tf.get_static_value(op.inputs[1]), op.inputs[0].op.inputs[0].shape.rank
    return begin is not None and bool((begin[0] % rank if rank else begin[0]) >= 1)


def _same_everywhere(tensor: tf.Tensor) -> bool:
    flat = tf.cast(tf.reshape(tensor, [-1]), tf.int64)
    sizes = _everyones(tf.shape(flat, tf.int64))
    if not bool(tf.reduce_all(sizes == sizes[0])):
        return False
    rows = _everyones(flat)
    return bool(tf.reduce_all(rows == rows[0]))


def _everyones(row: tf.Tensor) -> tf.Tensor:
    """The rows of all replicas, of one size. Eagerly, TensorFlow can add what replicas have, but not gather it."""
    context = tf.distribute.get_replica_context()
    mine = tf.one_hot(context.replica_id_in_sync_group, context.num_replicas_in_sync, dtype=row.dtype)
    return summed(mine[:, tf.newaxis] * row)
