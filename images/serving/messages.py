"""The messages that both APIs answer with."""

from __future__ import annotations

import math
from collections.abc import Mapping

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, model_pb2

from .error import invalid_argument
from .model import Version
from .versions import Status

# The field of a TensorProto with the values of a type. Clients read these fields, and tensor_content only on request.
_FIELDS = {
    tf.float32: "float_val",
    tf.float64: "double_val",
    tf.int64: "int64_val",
    tf.uint32: "uint32_val",
    tf.uint64: "uint64_val",
    tf.bool: "bool_val",
    tf.string: "string_val",
    **dict.fromkeys((tf.int32, tf.int16, tf.int8, tf.uint16, tf.uint8), "int_val"),
}
_MOST_REPEATED = 1 << 24
"""Elements of a tensor whose message has fewer values."""


def model_spec(name: str, number: int, signature_name: str = "") -> model_pb2.ModelSpec:
    """The version that answered."""
    spec = model_pb2.ModelSpec(name=name, signature_name=signature_name)
    spec.version.value = number
    return spec


def model_status(statuses: Mapping[int, Status]) -> get_model_status_pb2.GetModelStatusResponse:
    """The state of each version."""
    response = get_model_status_pb2.GetModelStatusResponse()
    for number, status in statuses.items():
        entry = response.model_version_status.add(version=number, state=status.state.value)
        entry.status.error_code = grpc.StatusCode.UNKNOWN.value[0] if status.error else 0
        entry.status.error_message = status.error
    return response


def signature_map(version: Version) -> get_model_metadata_pb2.SignatureDefMap:
    """The version's signatures."""
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, signature in version.signature_defs.items():
        signatures.signature_def[name].CopyFrom(signature)
    return signatures


def array(message: tensor_pb2.TensorProto) -> np.ndarray:
    """A TensorProto as an array. A ServingError for one that is not what its type and shape say."""
    elements = math.prod(dim.size for dim in message.tensor_shape.dim)
    if min((dim.size for dim in message.tensor_shape.dim), default=0) < 0 or message.tensor_shape.unknown_rank:
        raise invalid_argument("tensor parsing error: the shape of a tensor must be known")
    # One value may stand for all of a large tensor: a short message must not take all memory.
    if elements > max(_MOST_REPEATED, message.ByteSize()):
        raise invalid_argument(f"tensor parsing error: {elements} elements are too many for the values in the message")
    try:
        made: np.ndarray = tf.make_ndarray(message)
    except (KeyError, TypeError, ValueError) as error:
        raise invalid_argument(f"tensor parsing error: {error}") from error
    return made


def tensor(array: np.ndarray) -> tensor_pb2.TensorProto:
    """An array as a TensorProto."""
    dtype = tf.string if array.dtype.kind in "OS" else tf.as_dtype(array.dtype)
    if dtype not in _FIELDS:
        return tf.make_tensor_proto(array)
    message = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=tf.TensorShape(array.shape).as_proto())
    getattr(message, _FIELDS[dtype]).extend(array.ravel().tolist())
    return message
