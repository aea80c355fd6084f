"""One loaded version of a model: its signatures, and the call into TensorFlow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from .batching import Batches
from .error import ServingError, from_tensorflow, invalid_argument

DEFAULT_SIGNATURE = "serving_default"
Arrays = dict[str, np.ndarray]


class Version:
    """A SavedModel in memory."""

    def __init__(self, folder: Path, number: int, batches: Batches | None = None) -> None:
        """`batches`: computes requests of several clients together."""
        self.number = number
        self._batches = batches
        self.signature_defs = _signature_defs(folder)
        self._loaded = tf.saved_model.load(str(folder), tags=["serve"])

    def signature(self, name: str) -> meta_graph_pb2.SignatureDef:
        """The signature's inputs and outputs. An empty name means the default signature."""
        found = self.signature_defs.get(name or DEFAULT_SIGNATURE)
        if found is None or (name or DEFAULT_SIGNATURE) not in self._loaded.signatures:
            raise invalid_argument(f'Serving signature name: "{name or DEFAULT_SIGNATURE}" not found in signature def')
        return found

    def predict(self, inputs: Mapping[str, np.ndarray], signature_name: str, wanted: Collection[str] = ()) -> Arrays:
        """Runs a signature. `wanted`: the outputs that the client asks for; all by default."""
        signature = self.signature(signature_name)
        for name in sorted(wanted or signature.outputs):
            if kind := _composite(signature.outputs[name]) if name in signature.outputs else "":
                raise invalid_argument(
                    "Tensor :0, specified in either feed_devices or fetch_devices was not found in the Graph: output "
                    f"{name} is a {kind}, which TensorFlow Serving cannot return; return what its to_tensor() gives"
                )
        extra, missing = sorted(set(inputs) - set(signature.inputs)), sorted(set(signature.inputs) - set(inputs))
        if extra or missing:
            raise invalid_argument(
                f"input size does not match signature: {len(inputs)}!={len(signature.inputs)} "
                f"Sent extra: {{{','.join(extra)}}}. Missing but required: {{{','.join(missing)}}}."
            )
        name = signature_name or DEFAULT_SIGNATURE
        if self._batches is None:
            return self._compute(inputs, name)
        for given, array in inputs.items():
            # A wrong request must not fail the others of its batch.
            _check_type(given, array, signature.inputs[given])
        return self._batches.run((id(self), name), inputs, lambda together: self._compute(together, name))

    def _compute(self, inputs: Mapping[str, np.ndarray], name: str) -> Arrays:
        signature = self.signature_defs[name]
        tensors = {given: _tensor(given, array, signature.inputs[given]) for given, array in inputs.items()}
        try:
            outputs = self._loaded.signatures[name](**tensors)
        except tf.errors.OpError as error:
            raise _misshapen(inputs, signature) or from_tensorflow(error) from error
        return {output: tensor.numpy() for output, tensor in outputs.items() if isinstance(tensor, tf.Tensor)}


def _composite(info: meta_graph_pb2.TensorInfo) -> str:
    """The type of an output that consists of several tensors, such as RaggedTensor; empty for one tensor."""
    if info.WhichOneof("encoding") == "coo_sparse":
        return "SparseTensor"
    return str(info.composite_tensor.type_spec.type_spec_class_name.removesuffix("Spec"))


def _misshapen(inputs: Mapping[str, np.ndarray], signature: meta_graph_pb2.SignatureDef) -> ServingError | None:
    """Names the input whose shape differs from the signature's, if TensorFlow cannot compute it.

    Other differences are no error: TF Serving does not compare shapes. Its own example has [-1, 1], and is sent [3].
    """
    for name, array in inputs.items():
        expected = tf.TensorShape(signature.inputs[name].tensor_shape)
        if not expected.is_compatible_with(array.shape):
            return invalid_argument(f"input {name} has shape {list(array.shape)}, the signature takes {expected}")
    return None


def _check_type(name: str, array: np.ndarray, info: meta_graph_pb2.TensorInfo) -> None:
    # TensorFlow does not cast inputs with a type; JSON inputs have none, and arrive here in the signature's.
    given, wanted = tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype), tf.as_dtype(info.dtype)
    if given != wanted:
        raise invalid_argument(f"input {name} is of type {given.name}, the signature takes {wanted.name}")


def _tensor(name: str, array: np.ndarray, info: meta_graph_pb2.TensorInfo) -> tf.Tensor:
    _check_type(name, array, info)
    try:
        return tf.constant(array, tf.as_dtype(info.dtype))
    except (TypeError, ValueError) as error:
        raise invalid_argument(f"input {name}: {error}") from error


def _signature_defs(folder: Path) -> dict[str, meta_graph_pb2.SignatureDef]:
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    for graph in saved.meta_graphs:
        if "serve" in graph.meta_info_def.tags:
            return dict(graph.signature_def)
    raise ValueError(f"{folder} has no graph with the tag 'serve'")
