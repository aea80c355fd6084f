"""Tensors as TF Serving's REST API writes them in JSON: api_rest.md, "Predict API" and "JSON mapping"."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from .error import invalid_argument
from .model import Arrays

_KINDS = {"f": "fiu", "i": "iu", "u": "iu", "b": "b"}


def read(document: Any, signature: meta_graph_pb2.SignatureDef) -> tuple[Arrays, bool]:
    """A request's input tensors, and whether it is in the row format."""
    if "instances" in document and "inputs" in document:
        raise invalid_argument("Not formatted correctly: expected only one of 'inputs' and 'instances'")
    if "instances" in document:
        return _from_rows(document["instances"], signature), True
    if "inputs" in document:
        return _from_columns(document["inputs"], signature), False
    raise invalid_argument("Missing 'inputs' or 'instances' key")


def parse(body: bytes) -> dict[str, Any]:
    """A request's JSON object; NaN and Infinity are allowed."""
    if not body:
        raise invalid_argument("JSON Parse error: The document is empty")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise invalid_argument(f"JSON Parse error: {error}") from error
    if not isinstance(document, dict):
        raise invalid_argument(f"JSON Value: {shown(document)} Is not object")
    if not isinstance(document.get("signature_name", ""), str):
        raise invalid_argument(
            f"JSON Value: {shown(document)} not formatted correctly. 'signature_name' key must be a string value."
        )
    return document


def write(outputs: Arrays, *, rows: bool) -> bytes:
    """A response: `predictions` for rows, `outputs` for columns. A single output has no name."""
    values = {name: _values(name, array) for name, array in outputs.items()}
    if not rows:
        return _dump("outputs", next(iter(values.values())) if len(values) == 1 else values)
    sizes = set()
    for name, array in outputs.items():
        if not array.ndim:
            raise invalid_argument(f"Tensor name: {name} has no shape information ")
        sizes.add(len(array))
        if len(sizes) > 1:
            raise invalid_argument(f"Tensor name: {name} has inconsistent batch size: {len(array)}")
    if len(values) == 1:
        return _dump("predictions", next(iter(values.values())))
    return _dump("predictions", [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)])


def _from_rows(rows: Any, signature: meta_graph_pb2.SignatureDef) -> Arrays:
    if not isinstance(rows, list) or not rows:
        raise invalid_argument(
            f"JSON Value: {shown(rows)} not formatted correctly. Expecting 'instances' value to be a list"
        )
    names = sorted(signature.inputs)
    if not _is_named(rows[0]):
        if len(names) != 1:
            raise invalid_argument(
                "instances is a plain list, but expecting list of objects as multiple "
                "input tensors required as per tensorinfo_map"
            )
        for number, row in enumerate(rows):
            if _is_named(row):
                raise invalid_argument(f"Expecting value/list but got object at item {number} of input list")
        return {names[0]: _array(rows, signature.inputs[names[0]])}
    for number, row in enumerate(rows):
        if not _is_named(row):
            raise invalid_argument(f"Expecting object but got list at item {number} of input list")
        if sorted(row) != names:
            raise invalid_argument(
                f"Failed to process element: {number} of 'instances' list. "
                f"JSON object: {shown(row)} keys must be equal to: {','.join(names)}"
            )
    return {name: _array([row[name] for row in rows], signature.inputs[name]) for name in names}


def _from_columns(columns: Any, signature: meta_graph_pb2.SignatureDef) -> Arrays:
    names = sorted(signature.inputs)
    if not _is_named(columns):
        if len(names) != 1:
            raise invalid_argument(
                "inputs is a plain value/list, but expecting an object as multiple "
                "input tensors required as per tensorinfo_map"
            )
        return {names[0]: _array(columns, signature.inputs[names[0]])}
    for name in names:
        if name not in columns:
            raise invalid_argument(f"Missing named input: {name} in 'inputs' object.")
    return {name: _array(columns[name], signature.inputs[name]) for name in names}


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() != {"b64"}


def _array(value: Any, info: meta_graph_pb2.TensorInfo) -> np.ndarray:
    dtype = tf.as_dtype(info.dtype)
    if dtype == tf.string:
        return np.array(_encoded(value), dtype=object)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise invalid_argument(f"JSON Value: {shown(value)} is a list of lists of different sizes") from error
    allowed = _KINDS.get(np.dtype(dtype.as_numpy_dtype).kind, "f")
    if array.dtype.kind not in allowed:
        raise invalid_argument(f"JSON Value: {shown(value)} is not of expected type: {dtype.name}")
    if dtype.is_integer and array.size and (array.min() < dtype.min or array.max() > dtype.max):
        raise invalid_argument(f"JSON Value: {shown(value)} is not of expected type: {dtype.name}")
    return array.astype(dtype.as_numpy_dtype)


def _encoded(value: Any) -> Any:
    return [_encoded(item) for item in value] if isinstance(value, list) else decoded_bytes(value)


def decoded_bytes(value: Any) -> bytes:
    """A string's bytes: JSON's text, or base64 in an object with the one key `b64`."""
    try:
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str):
            return base64.b64decode(value["b64"], validate=True)
    except binascii.Error as error:
        raise invalid_argument(f"JSON Value: {shown(value)} not formatted correctly for base64 data") from error
    except UnicodeEncodeError as error:
        raise invalid_argument("JSON Parse error: The surrogate pair in string is invalid.") from error
    raise invalid_argument(f"JSON Value: {shown(value)} is not of expected type: string")


def shortest(array: np.ndarray | np.float32) -> Any:
    """The shortest decimals that are the same numbers in their own type: 0.1, not 0.10000000149011612."""
    return np.asarray(array).astype(str).astype(np.float64).tolist()


def _values(name: str, array: np.ndarray) -> Any:
    if array.dtype.kind in "OS":
        return _decoded(array.tolist(), binary=name.endswith("_bytes"))
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        return shortest(array)
    return array.tolist()


def _decoded(value: Any, *, binary: bool) -> Any:
    if isinstance(value, list):
        return [_decoded(item, binary=binary) for item in value]
    return {"b64": base64.b64encode(value).decode()} if binary else value.decode(errors="replace")


def _dump(key: str, value: Any) -> bytes:
    return json.dumps({key: value}).encode()


def shown(value: Any) -> str:
    """JSON for a message, shortened if it is long."""
    text = json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
