"""A fingerprint of what decoded samples depend on: the list of examples, and the graph of the function that loads one.

The same examples and the same operations have the same fingerprint in every process; comments and names in the Python
code do not count. It does not see the content of files that the function reads.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tensorplane.errors import UsageError

_COUNTED = re.compile(rb"(__(?:inference|forward|backward)_\w*?|\w*?_(?:body|cond|true|false)\w*?)_\d+(?=\W|_|$)")
"""Names of functions within a graph end with a number of this process, which names of their arguments may have, too."""
_GRADIENT = re.compile(rb"(?<=\"CustomGradient-)\d+(?=\")")
"""The number that this process gives a gradient, which decides no sample."""
_DRAWS = re.compile(
    "Random|^TruncatedNormal|^Multinomial|^SampleDistortedBoundingBox|CandidateSampler|^Rng"
    "|^Stateful(Uniform|StandardNormal|TruncatedNormal)"
)
"""Operations that draw from a state that is not in the graph."""
_COUNTS = re.compile("^Assign(Add|Sub)?VariableOp$")
"""Operations that change a state, as seeds of Keras' layers do."""
_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
_USED = {tf.resource: "a variable or a lookup table", tf.variant: "a tf.data.Dataset"}
"""What a function has a handle of, by its type."""


def of(function: tf.types.experimental.ConcreteFunction, examples: int, version: str) -> str:
    """The fingerprint, 32 hexadecimal digits. Examples that the function reads from tensors are part of it.

    `examples`: their number. `version`: the caller's name of what the graph does not contain.

    Raises UsageError if the function draws random numbers, or, without `version`, if it calls Python code or looks
    values up in tables, variables and datasets.
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
        if does := _repeated(name):
            raise UsageError(
                f"load: {does} ({name}), which the cache would repeat in every epoch; draw random numbers in `augment`"
            )


def _repeated(operation: str) -> str:
    """What an operation does anew each time; empty if nothing."""
    # A function of the graph may have such a name, too.
    if tf.raw_ops.__dict__.get(operation) is None or operation.startswith("Stateless"):
        return ""
    if _COUNTS.match(operation):
        return "changes a variable"
    return "draws random numbers" if _DRAWS.search(operation) and operation != "RandomIndexShuffle" else ""


def _refuse_unseen(operations: dict[str, Any], function: Any) -> None:
    unseen = sorted(_PYTHON & set(operations))
    captures = function.graph.external_captures
    used = {tensor.dtype: _USED[tensor.dtype] for tensor in captures if tensor.dtype in _USED}
    if unseen or used:
        what = f"calls Python code ({unseen[0]})" if unseen else f"uses {' and '.join(used.values())}"
        raise UsageError(
            f"load: {what}, whose changes the cache cannot see; set version='1', and another version after a change"
        )


def _captured(function: Any) -> list[np.ndarray]:
    captures = function.graph.external_captures
    return [np.asarray(tensor) for tensor in captures if tensor.dtype not in _USED]


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
    functions = {inner.signature.name: str(inner) for inner in copy.library.function}
    texts = _numbered(str(list(copy.node)), functions) if functions else [str(list(copy.node))]
    return b"\n".join(_GRADIENT.sub(b"", _COUNTED.sub(rb"\1", text.encode())) for text in texts)


def _numbered(text: str, functions: Mapping[str, str]) -> list[str]:
    """A text, and then those of the functions that are named in it or in one of those before, by their names. Each name
    is a number there: several functions may have one name but for the number of this process.
    """
    names = re.compile(f'"({"|".join(map(re.escape, functions))})"')
    numbers: dict[str, int] = {}

    def number(name: re.Match[str]) -> str:
        return f'"function {numbers.setdefault(name[1], len(numbers))}"'

    found = [names.sub(number, text)]
    while len(found) <= len(numbers):
        found.append(names.sub(number, functions[[*numbers][len(found) - 1]]))
    return found


def _bytes(value: np.ndarray) -> bytes:
    if value.dtype.kind == "O":
        return json.dumps([str(each) for each in value.ravel().tolist()]).encode()
    return np.ascontiguousarray(value).tobytes()
