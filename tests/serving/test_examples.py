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

from tests.serving import half_plus_two
from tests.serving.server import Server, running
from tests.support.waiting import PATIENT_SECONDS


@pytest.fixture(scope="module")
def half(stubs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A stand-in that serves half_plus_two, as version 123, under the name `half`."""
    base = tmp_path_factory.mktemp("models")
    half_plus_two.save(base / "half" / "00000123")
    with running(stubs, base) as server:
        server.wait("/v1/models/half/metadata", 200)
        yield server


def classify(server: Server, body: Any) -> tuple[int, Any]:
    return server.post("/v1/models/half:classify", body)


def regress(server: Server, body: Any) -> tuple[int, Any]:
    return server.post("/v1/models/half:regress", body)


# tensorflow_model_server_test.py, testPredictREST, testClassifyREST, testRegressREST
def test_half_plus_two_answers_as_tf_serving_does(half: Server) -> None:
    assert half.predict(instances=[2.0, 3.0, 4.0]) == (200, {"predictions": [3.0, 3.5, 4.0]})
    x = {"examples": [{"x": 2.0}]}
    assert classify(half, {"signature_name": "classify_x_to_y", **x}) == (200, {"results": [[["", 3.0]]]})
    assert regress(half, {"signature_name": "regress_x_to_y", **x}) == (200, {"results": [3.0]})
    assert regress(half, {"signature_name": "regress_x_to_y2", **x}) == (200, {"results": [4.0]})


# predict_impl_test.cc, PredictionWithNamedRegressionSignature: Predict takes what the signature's input takes.
def test_predict_runs_the_other_signatures_too(half: Server) -> None:
    assert half.predict(signature_name="regress_x2_to_y3", inputs=[[2.0]]) == (200, {"outputs": [[4.0]]})
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.append(2.0)
    packed = {"b64": base64.b64encode(example.SerializeToString()).decode()}
    assert half.predict(signature_name="regress_x_to_y", instances=[packed]) == (200, {"predictions": [[3.0]]})


# "Example": the signature is named, and `results` has a value for each example, in their order.
def test_several_examples_are_answered_in_their_order(half: Server) -> None:
    body = {"signature_name": "regress_x_to_y", "examples": [{"x": 1.0}, {"x": [2.0]}, {"x": -0.7}]}
    assert regress(half, body) == (200, {"results": [2.5, 3.0, 1.65]})
    assert half.post("/v1/models/half/versions/123:regress", body) == (200, {"results": [2.5, 3.0, 1.65]})


# "Response format": a list of pairs for each example
def test_classes_have_labels_and_scores_or_one_of_them(half: Server) -> None:
    examples = {"examples": [{"x": 2.0}, {"x": 4.0}]}
    both = {"results": [[["half", 3.0]], [["half", 4.0]]]}
    assert classify(half, {"signature_name": "labelled", **examples}) == (200, both)
    only = {"results": [[["half", 0.0]], [["half", 0.0]]]}
    assert classify(half, {"signature_name": "labels", **examples}) == (200, only)


# "Request format", `context`: features that all examples have in common
def test_a_context_is_part_of_every_example(half: Server) -> None:
    body = {"signature_name": "regress_x_to_y", "context": {"x": 4.0}, "examples": [{}, {"x2": 1.0}]}
    assert regress(half, body) == (200, {"results": [4.0, 4.0]})


# The same tf.Examples through TensorFlow itself
def test_values_of_every_type_are_the_features_of_a_tf_example(half: Server, stubs: Path) -> None:
    from embedded.images.serving import json_examples

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
def test_signatures_of_tensorflow_2_are_served(stubs: Path, tmp_path: Path) -> None:
    (tmp_path / "half").mkdir()
    half_plus_two.Native().save(tmp_path / "half" / "1")
    with running(stubs, tmp_path) as server:
        server.wait("/v1/models/half/metadata", 200)
        body = {"examples": [{"x": 2.0}, {"x": 3.0}]}
        assert regress(server, {"signature_name": "regress", **body}) == (200, {"results": [3.0, 3.5]})
        both = {"results": [[["half", 3.0]], [["half", 3.5]]]}
        assert classify(server, {"signature_name": "classify", **body}) == (200, both)


X = [{"x": 1.0}]


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("half:regress", {"examples": X}, 400, "No regression inputs found in SignatureDef"),
        ("half:classify", {"examples": X}, 400, "No classification inputs found in SignatureDef"),
        ("half:regress", {"signature_name": "no", "examples": X}, 400, "No signature was found with the name: no"),
        ("half:regress", {"signature_name": 5, "examples": X}, 400, "'signature_name' key must be a string value"),
        ("half:regress", {"signature_name": "classify_x_to_y", "examples": X}, 400, "No regression outputs found"),
        ("half:classify", {"signature_name": "neither", "examples": X}, 400, 'at least one of "classes" or "scores"'),
        (
            "half:classify",
            {"signature_name": "three", "examples": X},
            400,
            "Expected one or two output Tensors, found 3",
        ),
        ("half:classify", {"signature_name": "flat", "examples": X}, 400, "Expected Tensor shape: [batch_size num_cl"),
        ("half:regress", {"signature_name": "wide", "examples": X}, 400, "either [batch_size] or [batch_size, 1]"),
        ("half:regress", {"signature_name": "counts", "examples": X}, 400, "Expected output Tensor of DT_FLOAT"),
        ("half:regress", {"signature_name": "one", "examples": X * 2}, 400, "Input batch size did not match output"),
        ("half:regress", {"signature_name": "regress_x2_to_y3", "examples": X}, 400, "is of type string"),
        ("half:regress", {}, 400, "key 'examples' is expected and was not found"),
        ("half:regress", {"examples": {}}, 400, "Expecting 'examples' value to be an list/array"),
        ("half:regress", {"examples": []}, 400, "'examples' value is an empty array"),
        ("half:regress", {"examples": [1.0]}, 400, "Example must be JSON object but got JSON Number"),
        ("half:regress", {"examples": X, "context": []}, 400, "Example must be JSON object but got JSON Array"),
        ("half:regress", {"examples": [{"x": None}]}, 400, "Feature: x has element with unexpected JSON type: Null"),
        ("half:regress", {"examples": [{"x": [[1.0]]}]}, 400, "unexpected JSON type: Array"),
        ("half:regress", {"examples": [{"x": {"a": 1}}]}, 400, "unexpected JSON type: Object"),
        ("half:regress", {"examples": [{"x": {"b64": "%"}}]}, 400, "not formatted correctly for base64 data"),
        (
            "half:regress",
            {"examples": [{"x": [1.0, "a"]}]},
            400,
            "Unexpected element type in feature: x expecting type: f",
        ),
        ("half:regress", {"examples": [{"x": 2**63}]}, 400, "Only int64 is supported"),
        ("half:regress", {"examples": [{"x": 1e39}]}, 400, "to float without loss of precision"),
        # TensorFlow's own words: a whole number is an int64, and the model parses a float.
        ("half:regress", {"signature_name": "regress_x_to_y", "examples": [{"x": 1}]}, 400, "expected type: float"),
        ("half:regress", {"signature_name": "regress_x_to_y", "examples": [{"z": 1.0}]}, 400, "x"),
        ("half:regress", b"{", 400, "JSON Parse error"),
        ("half:regress", b"[" * 100_000, 400, "JSON Parse error"),
        ("half:regress", {"examples": [{"x": "\ud800"}]}, 400, "JSON Parse error"),
        ("other:regress", {"examples": X}, 404, "Servable not found for request: Latest(other)"),
        ("half/versions/9:classify", {"examples": X}, 404, "Servable not found for request: Specific(half, 9)"),
        ("half/labels/stable:regress", {"examples": X}, 400, "Unrecognized servable version label: stable"),
    ],
)
def test_a_wrong_request_gets_its_code_and_reason(half: Server, path: str, body: Any, status: int, says: str) -> None:
    code, answer = half.post(f"/v1/models/{path}", body)
    assert (code, list(answer)) == (status, ["error"])
    assert says in answer["error"]


def _asked(kind: str, signature: str, *values: float, context: float | None = None) -> Any:
    from tensorflow_serving.apis import classification_pb2, regression_pb2

    classes = {"Classify": classification_pb2.ClassificationRequest, "Regress": regression_pb2.RegressionRequest}
    request = classes[kind]()
    request.model_spec.name, request.model_spec.signature_name = "half", signature
    into = request.input.example_list
    if context is not None:
        into = request.input.example_list_with_context
        into.context.features.feature["x"].float_list.value.append(context)
    for value in values:
        into.examples.add().features.feature["x"].float_list.value.append(value)
    return request


@pytest.fixture(scope="module")
def client(half: Server, stubs: Path) -> Iterator[Any]:
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    with grpc.insecure_channel(half.grpc_address) as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


# tensorflow_model_server_test.py, testClassify, testRegress
def test_grpc_answers_the_same(client: Any) -> None:
    classified = client.Classify(_asked("Classify", "classify_x_to_y", 2.0), timeout=PATIENT_SECONDS)
    ((found,),) = (each.classes for each in classified.result.classifications)
    assert (found.label, found.score) == ("", 3.0)
    regressed = client.Regress(_asked("Regress", "regress_x_to_y", 2.0, 4.0), timeout=PATIENT_SECONDS)
    assert [each.value for each in regressed.result.regressions] == [3.0, 4.0]
    spec = regressed.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("half", 123, "regress_x_to_y")
    common = _asked("Regress", "regress_x_to_y", context=2.0)
    common.input.example_list_with_context.examples.add()
    assert [each.value for each in client.Regress(common, timeout=PATIENT_SECONDS).result.regressions] == [3.0]


# util.cc, InputToSerializedExampleTensor
def test_grpc_refuses_no_examples(client: Any) -> None:
    with pytest.raises(grpc.RpcError) as error:
        client.Classify(_asked("Classify", "classify_x_to_y"), timeout=PATIENT_SECONDS)
    assert (error.value.code(), error.value.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "Input is empty.")
