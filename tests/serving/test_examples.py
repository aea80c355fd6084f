"""Classify and Regress over REST and gRPC, with the model and the answers that TF Serving documents.

Sections are those of tensorflow_serving/g3doc/api_rest.md. The model's own requests and answers are those of
tensorflow_serving/model_servers/tensorflow_model_server_test.py. Messages are json_tensor.cc's, classifier.cc's and
regressor.cc's.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import tensorflow as tf

from tests.serving.server import Server
from tests.support.waiting import PATIENT_SECONDS


def classify(server: Server, body: Any, model: str = "plus") -> tuple[int, Any]:
    return server.post(f"/v1/models/{model}:classify", body)


def regress(server: Server, body: Any, model: str = "plus") -> tuple[int, Any]:
    return server.post(f"/v1/models/{model}:regress", body)


# tensorflow_model_server_test.py, testPredictREST, testClassifyREST, testRegressREST
def test_half_plus_two_answers_as_tf_serving_does(server: Server) -> None:
    assert server.predict("plus", instances=[2.0, 3.0, 4.0]) == (200, {"predictions": [3.0, 3.5, 4.0]})
    x = {"examples": [{"x": 2.0}]}
    assert classify(server, {"signature_name": "classify_x_to_y", **x}) == (200, {"results": [[["", 3.0]]]})
    assert regress(server, {"signature_name": "regress_x_to_y", **x}) == (200, {"results": [3.0]})
    assert regress(server, {"signature_name": "regress_x_to_y2", **x}) == (200, {"results": [4.0]})


# predict_impl_test.cc, PredictionWithNamedRegressionSignature: Predict takes what the signature's input takes.
def test_predict_runs_the_other_signatures_too(server: Server) -> None:
    assert server.predict("plus", signature_name="regress_x2_to_y3", inputs=[[2.0]]) == (200, {"outputs": [[4.0]]})
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.append(2.0)
    packed = {"b64": base64.b64encode(example.SerializeToString()).decode()}
    assert server.predict("plus", signature_name="regress_x_to_y", instances=[packed]) == (
        200,
        {"predictions": [[3.0]]},
    )


# "Example": the signature is named, and `results` has a value for each example, in their order.
def test_several_examples_are_answered_in_their_order(server: Server) -> None:
    body = {"signature_name": "regress_x_to_y", "examples": [{"x": 1.0}, {"x": [2.0]}, {"x": -0.7}]}
    assert regress(server, body) == (200, {"results": [2.5, 3.0, 1.65]})
    assert server.post("/v1/models/plus/versions/123:regress", body) == (200, {"results": [2.5, 3.0, 1.65]})


# "Response format": a list of pairs for each example
def test_classes_have_labels_and_scores_or_one_of_them(server: Server) -> None:
    examples = {"examples": [{"x": 2.0}, {"x": 4.0}]}
    both = {"results": [[["half", 3.0]], [["half", 4.0]]]}
    assert classify(server, {"signature_name": "labelled", **examples}) == (200, both)
    only = {"results": [[["half", 0.0]], [["half", 0.0]]]}
    assert classify(server, {"signature_name": "labels", **examples}) == (200, only)


# "Request format", `context`: features that all examples have in common
def test_a_context_is_part_of_every_example(server: Server) -> None:
    body = {"signature_name": "regress_x_to_y", "context": {"x": 4.0}, "examples": [{}, {"x2": 1.0}]}
    assert regress(server, body) == (200, {"results": [4.0, 4.0]})


# The same tf.Examples through TensorFlow itself
def test_values_of_every_type_are_the_features_of_a_tf_example(server: Server, stubs: Path) -> None:
    from tensorplane.images.serving import json_examples

    features = {"n": [1, -2, True], "s": ["text", {"b64": "/wA="}], "f": [0.5, float("inf")], "none": [], "big": 2**80}
    (example,) = json_examples.read({"examples": [features]}).example_list.examples
    kinds = {name: tf.io.VarLenFeature(kind) for name, kind in (("n", tf.int64), ("s", tf.string), ("f", tf.float32))}
    parsed = tf.io.parse_single_example(example.SerializeToString(), kinds | {"big": tf.io.VarLenFeature(tf.float32)})
    assert {name: values.values.numpy().tolist() for name, values in parsed.items()} == {
        "n": [1, -2, 1],
        "s": [b"text", b"\xff\x00"],
        "f": [0.5, float("inf")],
        "big": [float(2**80)],
    }
    assert example.features.feature["none"].WhichOneof("kind") is None


# main.cc, --enable_signature_method_name_check is off: "native TF2 regression/classification models"
def test_signatures_of_tensorflow_2_are_served(server: Server) -> None:
    body = {"examples": [{"x": 2.0}, {"x": 3.0}]}
    assert regress(server, {"signature_name": "regress", **body}, "native") == (200, {"results": [3.0, 3.5]})
    both = {"results": [[["half", 3.0]], [["half", 3.5]]]}
    assert classify(server, {"signature_name": "classify", **body}, "native") == (200, both)


X = [{"x": 1.0}]


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("plus:regress", {"examples": X}, 400, "No regression inputs found in SignatureDef"),
        ("plus:classify", {"examples": X}, 400, "No classification inputs found in SignatureDef"),
        ("plus:regress", {"signature_name": "no", "examples": X}, 400, "No signature was found with the name: no"),
        ("plus:regress", {"signature_name": 5, "examples": X}, 400, "'signature_name' key must be a string value"),
        ("plus:regress", {"signature_name": "classify_x_to_y", "examples": X}, 400, "No regression outputs found"),
        ("plus:classify", {"signature_name": "neither", "examples": X}, 400, 'at least one of "classes" or "scores"'),
        (
            "plus:classify",
            {"signature_name": "three", "examples": X},
            400,
            "Expected one or two output Tensors, found 3",
        ),
        ("plus:classify", {"signature_name": "flat", "examples": X}, 400, "Expected Tensor shape: [batch_size num_cl"),
        ("plus:regress", {"signature_name": "wide", "examples": X}, 400, "either [batch_size] or [batch_size, 1]"),
        ("plus:regress", {"signature_name": "counts", "examples": X}, 400, "Expected output Tensor of DT_FLOAT"),
        ("plus:regress", {"signature_name": "one", "examples": X * 2}, 400, "Input batch size did not match output"),
        ("plus:regress", {"signature_name": "regress_x2_to_y3", "examples": X}, 400, "is of type string"),
        ("plus:regress", {}, 400, "key 'examples' is expected and was not found"),
        ("plus:regress", {"examples": {}}, 400, "Expecting 'examples' value to be an list/array"),
        ("plus:regress", {"examples": []}, 400, "'examples' value is an empty array"),
        ("plus:regress", {"examples": [1.0]}, 400, "Example must be JSON object but got JSON Number"),
        ("plus:regress", {"examples": X, "context": []}, 400, "Example must be JSON object but got JSON Array"),
        ("plus:regress", {"examples": [{"x": None}]}, 400, "Feature: x has element with unexpected JSON type: Null"),
        ("plus:regress", {"examples": [{"x": [[1.0]]}]}, 400, "unexpected JSON type: Array"),
        ("plus:regress", {"examples": [{"x": {"a": 1}}]}, 400, "unexpected JSON type: Object"),
        ("plus:regress", {"examples": [{"x": {"b64": "%"}}]}, 400, "not formatted correctly for base64 data"),
        (
            "plus:regress",
            {"examples": [{"x": [1.0, "a"]}]},
            400,
            "Unexpected element type in feature: x expecting type: f",
        ),
        ("plus:regress", {"examples": [{"x": 2**63}]}, 400, "Only int64 is supported"),
        ("plus:regress", {"examples": [{"x": 1e39}]}, 400, "to float without loss of precision"),
        # TensorFlow's own words: a whole number is an int64, and the model parses a float.
        ("plus:regress", {"signature_name": "regress_x_to_y", "examples": [{"x": 1}]}, 400, "expected type: float"),
        ("plus:regress", {"signature_name": "regress_x_to_y", "examples": [{"z": 1.0}]}, 400, "x"),
        ("plus:regress", b"{", 400, "JSON Parse error"),
        ("plus:regress", b"[" * 100_000, 400, "JSON Parse error"),
        ("plus:regress", {"examples": [{"x": "\ud800"}]}, 400, "JSON Parse error"),
        ("other:regress", {"examples": X}, 404, "Servable not found for request: Latest(other)"),
        ("plus/versions/9:classify", {"examples": X}, 404, "Servable not found for request: Specific(plus, 9)"),
        ("plus/labels/stable:regress", {"examples": X}, 400, "Unrecognized servable version label: stable"),
    ],
)
def test_a_wrong_request_gets_its_code_and_reason(server: Server, path: str, body: Any, status: int, says: str) -> None:
    code, error = server.refusal(f"/v1/models/{path}", body)
    assert code == status
    assert says in error


def _request(kind: str, signature: str, *values: float, context: float | None = None) -> Any:
    from tensorflow_serving.apis import classification_pb2, regression_pb2

    classes = {"Classify": classification_pb2.ClassificationRequest, "Regress": regression_pb2.RegressionRequest}
    request = classes[kind]()
    request.model_spec.name, request.model_spec.signature_name = "plus", signature
    into = request.input.example_list
    if context is not None:
        into = request.input.example_list_with_context
        into.context.features.feature["x"].float_list.value.append(context)
    for value in values:
        into.examples.add().features.feature["x"].float_list.value.append(value)
    return request


@pytest.fixture(scope="module")
def client(server: Server, stubs: Path) -> Iterator[Any]:
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    with grpc.insecure_channel(server.grpc_address) as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


# tensorflow_model_server_test.py, testClassify, testRegress
def test_grpc_answers_the_same(client: Any) -> None:
    classified = client.Classify(_request("Classify", "classify_x_to_y", 2.0), timeout=PATIENT_SECONDS)
    ((found,),) = (each.classes for each in classified.result.classifications)
    assert (found.label, found.score) == ("", 3.0)
    regressed = client.Regress(_request("Regress", "regress_x_to_y", 2.0, 4.0), timeout=PATIENT_SECONDS)
    assert [each.value for each in regressed.result.regressions] == [3.0, 4.0]
    spec = regressed.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("plus", 123, "regress_x_to_y")
    common = _request("Regress", "regress_x_to_y", context=2.0)
    common.input.example_list_with_context.examples.add()
    assert [each.value for each in client.Regress(common, timeout=PATIENT_SECONDS).result.regressions] == [3.0]


# util.cc, InputToSerializedExampleTensor
def test_grpc_refuses_no_examples(client: Any) -> None:
    with pytest.raises(grpc.RpcError) as error:
        client.Classify(_request("Classify", "classify_x_to_y"), timeout=PATIENT_SECONDS)
    assert (error.value.code(), error.value.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "Input is empty.")
