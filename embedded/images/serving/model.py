"""One loaded version of a model: its signatures, and the call into TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from .refusal import Refusal, from_tensorflow, invalid

DEFAULT_SIGNATURE = "serving_default"
Arrays = dict[str, np.ndarray]


class Version:
    """A SavedModel in memory."""

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.signature_defs = _signature_defs(folder)
        self._loaded = tf.saved_model.load(str(folder), tags=["serve"])

    def signature(self, name: str) -> meta_graph_pb2.SignatureDef:
        """The signature's inputs and outputs. An empty name means the default signature."""
        found = self.signature_defs.get(name or DEFAULT_SIGNATURE)
        if found is None or (name or DEFAULT_SIGNATURE) not in self._loaded.signatures:
            raise invalid(f'Serving signature name: "{name or DEFAULT_SIGNATURE}" not found in signature def')
        return found

    def predict(self, inputs: Mapping[str, np.ndarray], signature_name: str) -> Arrays:
        """Runs a signature."""
        signature = self.signature(signature_name)
        extra, missing = sorted(set(inputs) - set(signature.inputs)), sorted(set(signature.inputs) - set(inputs))
        if extra or missing:
            raise invalid(
                f"input size does not match signature: {len(inputs)}!={len(signature.inputs)} "
                f"Sent extra: {{{','.join(extra)}}}. Missing but required: {{{','.join(missing)}}}."
            )
        tensors = {name: _tensor(name, array, signature.inputs[name]) for name, array in inputs.items()}
        try:
            outputs = self._loaded.signatures[signature_name or DEFAULT_SIGNATURE](**tensors)
        except tf.errors.OpError as error:
            raise _misshapen(inputs, signature) or from_tensorflow(error) from error
        return {name: tensor.numpy() for name, tensor in outputs.items()}


def _misshapen(inputs: Mapping[str, np.ndarray], signature: meta_graph_pb2.SignatureDef) -> Refusal | None:
    """Names the input whose shape differs from the signature's, if TensorFlow cannot compute it.

    Other differences are no fault: TF Serving does not compare shapes. Its own example has [-1, 1], and is sent [3].
    """
    for name, array in inputs.items():
        expected = tf.TensorShape(signature.inputs[name].tensor_shape)
        if not expected.is_compatible_with(array.shape):
            return invalid(f"input {name} has shape {list(array.shape)}, the signature takes {expected}")
    return None


def _tensor(name: str, array: np.ndarray, info: meta_graph_pb2.TensorInfo) -> tf.Tensor:
    # TensorFlow does not cast inputs with a type; JSON inputs have none, and arrive here in the signature's.
    given, wanted = tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype), tf.as_dtype(info.dtype)
    if given != wanted:
        raise invalid(f"input {name} is of type {given.name}, the signature takes {wanted.name}")
    try:
        return tf.constant(array, wanted)
    except (TypeError, ValueError) as error:
        raise invalid(f"input {name}: {error}") from error


def _signature_defs(folder: Path) -> dict[str, meta_graph_pb2.SignatureDef]:
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    for graph in saved.meta_graphs:
        if "serve" in graph.meta_info_def.tags:
            return dict(graph.signature_def)
    raise ValueError(f"{folder} has no graph with the tag 'serve'")
