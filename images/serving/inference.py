"""Classify and Regress: a signature of one input, serialized tf.Examples.

It refuses what TF Serving's classifier.cc, regressor.cc and util.cc refuse. The signature's method name is not checked:
TF Serving does so only with --enable_signature_method_name_check, and TensorFlow 2 always writes Predict.
"""

from __future__ import annotations

from collections.abc import Collection

import grpc
import numpy as np
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import classification_pb2, input_pb2, regression_pb2

from .error import ServingError, invalid_argument
from .model import DEFAULT_SIGNATURE, Arrays, Version

_INPUTS = "inputs"
_CLASSES, _SCORES, _OUTPUTS = "classes", "scores", "outputs"


def classify(
    version: Version, request: input_pb2.Input, signature_name: str
) -> classification_pb2.ClassificationResult:
    """Labels and scores of each example. A signature may have only one of them."""
    signature = _signature(version, signature_name, "classification", most=2)
    if not {_CLASSES, _SCORES} & set(signature.outputs):
        raise _unfit(
            f'Expected classification signature outputs to contain at least one of "{_CLASSES}" or "{_SCORES}"'
        )
    outputs, size = _run(version, request, signature_name)
    found = {name: outputs[name] for name in (_CLASSES, _SCORES) if name in outputs}
    for name, array in found.items():
        _check_type(name, array, "OS" if name == _CLASSES else "f")
        if array.ndim != 2:
            raise invalid_argument(f"Expected Tensor shape: [batch_size num_classes] but got {list(array.shape)}")
        if len(array) != size:
            raise invalid_argument(f"Expected {name} output batch size of {size}. Got: {len(array)}")
    if len({array.shape for array in found.values()}) > 1:
        widths = " vs. ".join(str(array.shape[1]) for array in found.values())
        raise invalid_argument(f"Tensors class and score should match in dim_size(1). Got {widths}")
    result = classification_pb2.ClassificationResult()
    _, count = next(iter(found.values())).shape
    for row in range(size):
        classes = result.classifications.add().classes
        for column in range(count):
            one = classes.add()
            if _CLASSES in found:
                one.label = found[_CLASSES][row, column].decode(errors="replace")
            if _SCORES in found:
                one.score = found[_SCORES][row, column]
    return result


def regress(version: Version, request: input_pb2.Input, signature_name: str) -> regression_pb2.RegressionResult:
    """A value for each example."""
    signature = _signature(version, signature_name, "regression", most=1)
    if _OUTPUTS not in signature.outputs:
        raise _unfit(f"No regression outputs found in SignatureDef: {_short(signature)}")
    outputs, size = _run(version, request, signature_name)
    values = outputs[_OUTPUTS]
    if not (values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)):
        shape = list(values.shape)
        raise invalid_argument(
            f"Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got {shape}"
        )
    if len(values) != size:
        raise invalid_argument(f"Input batch size did not match output batch size: {size} vs. {len(values)}")
    _check_type("output", values, "f")
    return regression_pb2.RegressionResult(
        regressions=[regression_pb2.Regression(value=value) for value in values.ravel()]
    )


def _signature(version: Version, name: str, kind: str, *, most: int) -> meta_graph_pb2.SignatureDef:
    name = name or DEFAULT_SIGNATURE
    if name not in version.signature_defs:
        raise invalid_argument(f"No signature was found with the name: {name}")
    signature = version.signature(name)
    if len(signature.inputs) != 1:
        raise invalid_argument("Expected one input Tensor.")
    if not 1 <= len(signature.outputs) <= most:
        allowed = "one output Tensor" if most == 1 else "one or two output Tensors"
        raise invalid_argument(f"Expected {allowed}, found {len(signature.outputs)}")
    if _INPUTS not in signature.inputs:
        raise _unfit(f"No {kind} inputs found in SignatureDef: {_short(signature)}")
    return signature


def _run(version: Version, request: input_pb2.Input, signature_name: str) -> tuple[Arrays, int]:
    """The signature's outputs, and the number of examples."""
    examples = _serialized(request)
    if not examples:
        raise invalid_argument("Input is empty.")
    return version.predict({_INPUTS: np.array(examples, dtype=object)}, signature_name), len(examples)


def _serialized(request: input_pb2.Input) -> list[bytes]:
    """Each example as its signature's graph parses it. Two concatenated messages are the two merged."""
    if request.WhichOneof("kind") == "example_list_with_context":
        context = request.example_list_with_context.context.SerializeToString()
        return [context + one.SerializeToString() for one in request.example_list_with_context.examples]
    return [one.SerializeToString() for one in request.example_list.examples]


def _check_type(name: str, array: np.ndarray, kinds: Collection[str]) -> None:
    if array.dtype.kind not in kinds or (array.dtype.kind == "f" and array.dtype != np.float32):
        raise invalid_argument(
            f"Expected {name} Tensor of {'DT_FLOAT' if 'f' in kinds else 'DT_STRING'}. Got: {array.dtype}"
        )


def _unfit(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.FAILED_PRECONDITION, message)


def _short(signature: meta_graph_pb2.SignatureDef) -> str:
    return f"inputs {', '.join(sorted(signature.inputs))}; outputs {', '.join(sorted(signature.outputs))}"
