"""A fingerprint of what decoded samples depend on: the list of examples, and the graph of the function that loads one.

The same examples and the same operations have the same fingerprint in every process; comments and names in the Python
code do not count. It does not see the content of files that the function reads.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

_COUNTED = re.compile(rb"(__(?:inference|forward|backward)_\w*?|\w*?_(?:body|cond|true|false)\w*?)_\d+(?=\W|_|$)")
"""Names of functions within a graph end with a number of this process."""
_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


def of(function: tf.types.experimental.ConcreteFunction, examples: int, version: str) -> str:
    """The fingerprint, 32 hexadecimal digits. Examples that the function reads from tensors are part of it.

    `examples`: their number. `version`: the caller's name of what the graph does not contain.

    Raises ValueError if the function draws random numbers, or, without `version`, if it calls Python code or looks
    values up in tables and variables.
    """
    definition = function.graph.as_graph_def()
    operations = {node.op: node for node in _nodes(definition)}
    _refuse_random(operations)
    if not version:
        _refuse_unseen(operations, function)
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps([tf.__version__, version, examples, _shapes(function)]).encode())
    digest.update(_graph(definition))
    for value in _captured(function):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(_bytes(value))
    return digest.hexdigest()


def _shapes(function: Any) -> str:
    return str(tf.nest.map_structure(lambda each: (each.dtype.name, each.shape.as_list()), function.structured_outputs))


def _nodes(definition: Any) -> Iterator[Any]:
    yield from definition.node
    for inner in definition.library.function:
        yield from inner.node_def


def _refuse_random(operations: dict[str, Any]) -> None:
    for name in sorted(operations):
        known = tf.raw_ops.__dict__.get(name) is not None
        if known and "Random" in name and not name.startswith("Stateless") and name != "RandomIndexShuffle":
            raise ValueError(
                f"load: draws random numbers ({name}), which the cache would repeat in every epoch; "
                "draw them in `augment`"
            )


def _refuse_unseen(operations: dict[str, Any], function: Any) -> None:
    unseen = sorted(_PYTHON & set(operations))
    resources = [tensor.name for tensor in function.graph.external_captures if tensor.dtype == tf.resource]
    if unseen or resources:
        what = f"calls Python code ({unseen[0]})" if unseen else f"uses {resources[0]}"
        raise ValueError(
            f"load: {what}, whose changes the cache cannot see; set version='1', and another version after a change"
        )


def _captured(function: Any) -> list[np.ndarray]:
    captures = function.graph.external_captures
    return [np.asarray(tensor) for tensor in captures if tensor.dtype not in (tf.resource, tf.variant)]


def _graph(definition: Any) -> bytes:
    """The graph without what differs between two traces of the same code."""
    copy = type(definition)()
    copy.CopyFrom(definition)
    for node in _nodes(copy):
        node.ClearField("experimental_debug_info")
        if node.op in _PYTHON:
            node.attr["token"].s = b""
    for inner in copy.library.function:
        inner.attr.clear()
        inner.arg_attr.clear()
    functions = sorted(_COUNTED.sub(rb"\1", str(inner).encode()) for inner in copy.library.function)
    nodes = _COUNTED.sub(rb"\1", str(list(copy.node)).encode())
    return b"\n".join([nodes, *functions])


def _bytes(value: np.ndarray) -> bytes:
    if value.dtype.kind == "O":
        return json.dumps([str(each) for each in value.ravel().tolist()]).encode()
    return np.ascontiguousarray(value).tobytes()
