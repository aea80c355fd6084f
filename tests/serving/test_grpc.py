"""The gRPC API, as tensorflow/serving's protos state it: prediction_service.proto, model_service.proto in apis/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import tensorflow as tf

from tests.serving.server import Server
from tests.support.waiting import PATIENT_SECONDS


class Stubs:
    """A client, made of the stubs that TF Serving publishes."""

    def __init__(self, channel: grpc.Channel) -> None:
        from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

        self.prediction = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        self.models = model_service_pb2_grpc.ModelServiceStub(channel)


@pytest.fixture(scope="module")
def client(server: Server, stubs: Path) -> Iterator[Stubs]:
    with grpc.insecure_channel(server.grpc_address) as channel:
        yield Stubs(channel)


def _request(kind: str, model: str = "half", version: int | None = None, signature: str = "") -> Any:
    from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, predict_pb2

    request = {
        "predict": predict_pb2.PredictRequest,
        "metadata": get_model_metadata_pb2.GetModelMetadataRequest,
        "status": get_model_status_pb2.GetModelStatusRequest,
    }[kind]()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    return request


def _predict(inputs: dict[str, Any], **spec: Any) -> Any:
    request = _request("predict", **spec)
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return request


# predict.proto: "Effective Model Specification" and "Output tensors"; clients read float_val, as TF Serving's own do.
def test_predict_answers_with_values_and_the_version_that_gave_them(client: Stubs) -> None:
    response = client.prediction.Predict(_predict({"x": [1.0, 2.0, 5.0]}), timeout=PATIENT_SECONDS)
    assert list(response.outputs["y"].float_val) == [3.5, 4.0, 5.5]
    assert response.outputs["y"].tensor_shape.dim[0].size == 3
    spec = response.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("half", 3, "serving_default")


# predict.proto, output_filter: "If specified, only the named outputs are returned"
def test_an_output_filter_leaves_out_the_rest(client: Stubs) -> None:
    request = _predict({"a": [1.0], "b": tf.constant([[1, 2]], tf.int32)}, signature="two")
    request.output_filter.append("b")
    response = client.prediction.Predict(request, timeout=PATIENT_SECONDS)
    assert list(response.outputs) == ["b"]
    assert list(response.outputs["b"].int_val) == [1, 2]


def test_strings_keep_their_bytes(client: Stubs) -> None:
    response = client.prediction.Predict(
        _predict({"s": [b"ab", b"\xff\x00"]}, signature="text"), timeout=PATIENT_SECONDS
    )
    assert list(response.outputs["raw_bytes"].string_val) == [b"ab", b"\xff\x00"]


def test_metadata_holds_the_signatures(client: Stubs) -> None:
    from tensorflow_serving.apis import get_model_metadata_pb2

    request = _request("metadata")
    request.metadata_field.append("signature_def")
    response = client.prediction.GetModelMetadata(request, timeout=PATIENT_SECONDS)
    assert response.model_spec.version.value == 3
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert signatures.signature_def["serving_default"].inputs["x"].dtype == tf.float32.as_datatype_enum


def test_status_names_each_version_and_its_state(client: Stubs) -> None:
    from tensorflow_serving.apis import get_model_status_pb2

    (status,) = client.models.GetModelStatus(_request("status"), timeout=PATIENT_SECONDS).model_version_status
    assert status.version == 3
    assert status.state == get_model_status_pb2.ModelVersionStatus.AVAILABLE
    assert status.status.error_code == 0


@pytest.mark.parametrize(
    ("inputs", "spec", "code", "says"),
    [
        ({"x": [1.0]}, {"model": "other"}, "NOT_FOUND", "Latest(other)"),
        ({"x": [1.0]}, {"version": 9}, "NOT_FOUND", "Specific(half, 9)"),
        ({"x": [1.0]}, {"model": ""}, "INVALID_ARGUMENT", "Missing ModelSpec"),
        ({"x": [1.0]}, {"signature": "no"}, "INVALID_ARGUMENT", "not found in signature def"),
        ({"x": [1.0], "z": [1.0]}, {}, "INVALID_ARGUMENT", "Sent extra: {z}"),
        ({}, {}, "INVALID_ARGUMENT", "Missing but required: {x}"),
        ({"a": [1.0], "b": [1, 2]}, {"signature": "two"}, "INVALID_ARGUMENT", "input b has shape [2]"),
        ({"x": ["a"]}, {}, "INVALID_ARGUMENT", "input x"),
        ({"x": [1]}, {}, "INVALID_ARGUMENT", "input x is of type int32, the signature takes float32"),
        ({"x": [-1.0]}, {"signature": "picky"}, "INVALID_ARGUMENT", "only positive numbers"),
        ({"s": ["a b"]}, {"signature": "ragged"}, "INVALID_ARGUMENT", "output words is a RaggedTensor"),
    ],
)
def test_a_wrong_request_gets_its_code_and_reason(
    client: Stubs, inputs: dict[str, Any], spec: dict[str, Any], code: str, says: str
) -> None:
    with pytest.raises(grpc.RpcError) as error:
        client.prediction.Predict(_predict(inputs, **spec), timeout=PATIENT_SECONDS)
    assert error.value.code() == grpc.StatusCode[code]
    assert says in error.value.details()


def test_what_the_stand_in_lacks_says_so(client: Stubs) -> None:
    from tensorflow_serving.apis import inference_pb2

    with pytest.raises(grpc.RpcError) as error:
        client.prediction.MultiInference(inference_pb2.MultiInferenceRequest(), timeout=PATIENT_SECONDS)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED
