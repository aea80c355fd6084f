"""tf.Examples as TF Serving's REST API has them in JSON, and its answers: api_rest.md, "Classify and Regress API"."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from tensorflow.core.example import example_pb2, feature_pb2
from tensorflow_serving.apis import classification_pb2, input_pb2, regression_pb2

from .error import invalid_argument
from .json_tensors import decoded_bytes, shortest, shown

_LARGEST_FLOAT = float(np.finfo(np.float32).max)
_INT64, _UINT64 = range(-(2**63), 2**63), range(2**64)


def read(document: dict[str, Any]) -> input_pb2.Input:
    """A request's examples, merged with their common context."""
    given = input_pb2.Input()
    into = given.example_list
    if "context" in document:
        into = given.example_list_with_context
        into.context.CopyFrom(_example(document["context"]))
    if "examples" not in document:
        raise invalid_argument(
            f"JSON Value: {shown(document)} When method is classify, key 'examples' is expected and was not found"
        )
    examples = document["examples"]
    if not isinstance(examples, list):
        raise invalid_argument(f"JSON Value: {shown(document)} Expecting 'examples' value to be an list/array")
    if not examples:
        raise invalid_argument(f"JSON Value: {shown(document)} 'examples' value is an empty array")
    into.examples.extend(_example(each) for each in examples)
    return given


def classified(result: classification_pb2.ClassificationResult) -> bytes:
    """For each example a list of pairs: a label, empty if the model has none, and a score."""
    return _results(
        [[one.label, shortest(np.float32(one.score))] for one in each.classes] for each in result.classifications
    )


def regressed(result: regression_pb2.RegressionResult) -> bytes:
    """A value for each example."""
    return _results(shortest(np.float32(one.value)) for one in result.regressions)


def _results(values: Iterable[Any]) -> bytes:
    # The page's format says `result`; its example, and json_tensor.cc, say `results`.
    return json.dumps({"results": list(values)}).encode()


def _example(features: Any) -> example_pb2.Example:
    if not isinstance(features, dict):
        raise invalid_argument(f"Example must be JSON object but got JSON {_kind(features)}")
    example = example_pb2.Example()
    for name, content in features.items():
        feature = feature_pb2.Feature()
        for value in content if isinstance(content, list) else [content]:
            _add(feature, name, value)
        example.features.feature[name].CopyFrom(feature)
    return example


def _add(feature: feature_pb2.Feature, name: str, value: Any) -> None:
    """Adds a value to a feature, all of whose values are of one type."""
    kind, item = _value(name, value)
    before = feature.WhichOneof("kind")
    if before not in (None, kind):
        raise invalid_argument(
            f"Unexpected element type in feature: {name} expecting type: {before.removesuffix('_list')}"
        )
    getattr(feature, kind).value.append(item)


def _value(name: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, str | dict):
        if isinstance(value, dict) and value.keys() != {"b64"}:
            raise _unexpected(name, value)
        return "bytes_list", decoded_bytes(value)
    if isinstance(value, bool):
        return "int64_list", int(value)
    if isinstance(value, int) and value in _INT64:
        return "int64_list", value
    if isinstance(value, int) and value in _UINT64:
        raise invalid_argument(f"Feature: {name} has uint64 element. Only int64 is supported.")
    if not isinstance(value, int | float):
        raise _unexpected(name, value)
    # An integer of more than 64 bits is a decimal, too.
    if abs(value) > _LARGEST_FLOAT and not (isinstance(value, float) and math.isinf(value)):
        raise invalid_argument(f"Cannot convert JSON value: {shown(value)} to float without loss of precision.")
    return "float_list", float(value)


def _unexpected(name: str, value: Any) -> Exception:
    return invalid_argument(f"Feature: {name} has element with unexpected JSON type: {_kind(value)}")


def _kind(value: Any) -> str:
    kinds = {type(None): "Null", bool: str(value), dict: "Object", list: "Array", str: "String"}
    return kinds.get(type(value), "Number")
