"""What a published version contains, as digests that are equal for models that are equal to the bit.

The files of a SavedModel differ from one export of the same model to the next: `fingerprint.pb` has a random number,
and Keras writes its variables in the order of a set. So of a SavedModel, each variable has a digest of its name, type,
shape and bytes, and each signature one of the operations that compute it, of their functions and attributes. Other
files have the digest of their bytes. What TensorFlow needs only to load or save a model again is left out.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = Path("assets.extra") / "content.json"
"""Its place in a published version."""
_MODEL = "saved_model.pb"
_UNSTABLE = (_MODEL, "fingerprint.pb")
_CHUNK = 1 << 20
_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_OF_TRACING = {"_gradient_op_type", "_class", "debug_name"}
"""Attributes with names and numbers that depend on what was traced before."""
_OF_SET = "_all_variables/"
"""Keys of variables in a set of Keras: their numbers differ from one export to the next."""


def of(folder: Path) -> dict[str, str]:
    """Digests by what they are of: `variable NAME`, `signature NAME` or `file PATH`.

    Without TensorFlow in this process, a SavedModel's files count as other files.
    """
    is_model = (folder / _MODEL).is_file() and "tensorflow" in sys.modules
    found = dict(_of_model(folder)) if is_model else {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        is_weights = inside.parts[0] == "variables"
        if path.is_file() and inside.parts[0] != "assets.extra" and not (is_model and _is_of_model(inside, is_weights)):
            found[f"file {inside.as_posix()}"] = _digest_of(path)
    return dict(sorted(found.items()))


def _is_of_model(inside: Path, is_weights: bool) -> bool:
    return is_weights or inside.as_posix() in _UNSTABLE


def _digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _of_model(folder: Path) -> Iterator[tuple[str, str]]:
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel()
    model.ParseFromString((folder / _MODEL).read_bytes())
    for name, values in _variables(folder).items():
        yield f"variable {name}", _joined(*sorted(values))
    for graph in model.meta_graphs:
        nodes = Nodes(graph.graph_def)
        for name, signature in graph.signature_def.items():
            yield f"signature {name}", nodes.of_signature(signature)


def _variables(folder: Path) -> dict[str, list[str]]:
    """Digests of the values of the variables, by name; several variables may have one name."""
    import numpy as np
    import tensorflow as tf
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    prefix = folder / "variables" / "variables"
    if not prefix.with_suffix(".index").exists():
        return {}
    reader = tf.train.load_checkpoint(str(prefix))
    names: dict[str, str] = {}
    shapes = reader.get_variable_to_shape_map()
    if _GRAPH in shapes:
        objects = trackable_object_graph_pb2.TrackableObjectGraph()
        objects.ParseFromString(reader.get_tensor(_GRAPH))
        names = {each.checkpoint_key: each.full_name for node in objects.nodes for each in node.attributes}
    found: dict[str, list[str]] = {}
    for key in sorted(set(shapes) - {_GRAPH}):
        value = np.asarray(reader.get_tensor(key))
        content = repr(value.tolist()).encode() if value.dtype == object else value.tobytes()
        digest = _joined(str(value.dtype), str(value.shape), hashlib.sha256(content).hexdigest())
        name = names.get(key) or key if key.startswith(_OF_SET) else key.partition("/.ATTRIBUTES/")[0]
        found.setdefault(name, []).append(digest)
    return found


class Nodes:
    """The operations of a graph, each by a digest of what it computes, whatever it is called."""

    def __init__(self, graph: Any) -> None:
        self._nodes = {node.name: node for node in graph.node}
        self._functions = {function.signature.name: function for function in graph.library.function}
        self._known: dict[str, str] = {}
        self._top: dict[str, str] = {}

    def of_signature(self, signature: Any) -> str:
        """A digest of a signature with all that it computes."""
        parts = [signature.method_name]
        for kind, tensors in (("in", signature.inputs), ("out", signature.outputs)):
            for name in sorted(tensors):
                operation, _, port = tensors[name].name.partition(":")
                shape = _bytes(tensors[name].tensor_shape)
                computed = self._of_node(operation, self._nodes, self._top)
                parts += [kind, name, str(tensors[name].dtype), shape, port, computed]
        return _joined(*parts)

    def _of_definition(self, node: Any) -> str:
        """A node without its inputs."""
        parts = [node.op, node.device]
        for name in sorted(set(node.attr) - _OF_TRACING):
            parts += [name, self._of_attribute(node.attr[name])]
        return _joined(*parts)

    def _of_attribute(self, value: Any) -> str:
        """A function counts by what it computes: its name has a number that depends on what was traced before."""
        copy = type(value)()
        copy.CopyFrom(value)
        for each in [copy.func] if copy.HasField("func") else copy.list.func if copy.HasField("list") else ():
            each.name = self._of_function(each.name)
        return _bytes(copy)

    def _of_function(self, name: str) -> str:
        if name not in self._functions:
            return name
        if name not in self._known:
            self._known[name] = "itself"  # of a function that calls itself
            function = self._functions[name]
            arguments, results = function.signature.input_arg, function.signature.output_arg
            nodes = {node.name: node for node in function.node_def}
            known = {argument.name: f"argument {index}" for index, argument in enumerate(arguments)}
            ends = [function.ret[result.name] for result in results]
            done = sorted(self._of_node(each, nodes, known) for each in function.control_ret.values())
            parts = [f"{self._of_node(_operation(end), nodes, known)}{_port(end)}" for end in ends]
            types = [str(each.type) for each in (*arguments, *results)]
            self._known[name] = _joined(*types, *parts, *done)
        return self._known[name]

    def _of_node(self, last: str, nodes: Mapping[str, Any], known: dict[str, str]) -> str:
        """The digest of a node and of all that it depends on; those come first, because graphs may be deep."""
        waiting, seen = [last], set[str]()
        while waiting:
            name = waiting[-1]
            if name in known or name not in nodes:
                waiting.pop()
                continue
            inputs = list(nodes[name].input)
            missing = [one for each in inputs if (one := _operation(each)) not in known and one in nodes]
            if missing and name not in seen:
                seen.add(name)
                waiting += [one for one in missing if one not in seen]
                continue
            waiting.pop()
            # In a loop, an operation that is not known yet counts by its name.
            below = [f"{known.get(_operation(each), _operation(each))}{_port(each)}" for each in inputs]
            data = [each for each in below if not each.endswith("^")]
            control = sorted(each for each in below if each.endswith("^"))  # their order means nothing
            known[name] = _joined(self._of_definition(nodes[name]), *data, *control)
        return known.get(last, last)


def _operation(tensor: str) -> str:
    return tensor.lstrip("^").partition(":")[0]


def _port(tensor: str) -> str:
    return "^" if tensor.startswith("^") else tensor.partition(":")[1] + tensor.partition(":")[2]


def _bytes(message: Any) -> str:
    return hashlib.sha256(message.SerializeToString(deterministic=True)).hexdigest()


def _joined(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
