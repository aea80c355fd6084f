"""TF Serving's gRPC API. MultiInference and HandleReloadConfigRequest answer that they are not implemented."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from . import inference, messages
from .model import DEFAULT_SIGNATURE
from .refusal import Refusal, invalid, unknown_label
from .versions import Versions

_THREADS = 16


def server(versions: Versions, port: int) -> grpc.Server:
    """The server, bound to the port and not started. Raises OSError if the port is in use."""
    made = grpc.server(
        futures.ThreadPoolExecutor(_THREADS, thread_name_prefix="grpc"),
        # Without it, a second server would silently share the port. TF Serving's limit of message sizes.
        options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(_Prediction(versions), made)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(_Models(versions), made)
    try:
        made.add_insecure_port(f"0.0.0.0:{port}")
    except RuntimeError as error:
        raise OSError(f"cannot listen on port {port}") from error
    return made


def _wanted(spec: model_pb2.ModelSpec) -> tuple[str, int | None]:
    if not spec.name:
        raise invalid("Missing ModelSpec")
    if spec.version_label:
        raise unknown_label(spec.version_label)
    return spec.name, spec.version.value if spec.HasField("version") else None


def _answering(asked: model_pb2.ModelSpec, number: int) -> model_pb2.ModelSpec:
    return messages.model_spec(asked.name, number, asked.signature_name or DEFAULT_SIGNATURE)


def _answers(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any, grpc.ServicerContext], Any]:
    def guarded(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request)
        except Refusal as refusal:
            return context.abort(refusal.code, refusal.message)

    return guarded


class _Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):  # type: ignore[misc]  # generated, untyped
    def __init__(self, versions: Versions) -> None:
        self._versions = versions

    @_answers
    def Predict(self, request: predict_pb2.PredictRequest) -> predict_pb2.PredictResponse:  # noqa: N802
        version = self._versions.get(*_wanted(request.model_spec))
        signature_name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        try:
            inputs = {name: tf.make_ndarray(tensor) for name, tensor in request.inputs.items()}
        except (TypeError, ValueError) as error:
            raise invalid(f"tensor parsing error: {error}") from error
        outputs = version.predict(inputs, signature_name)
        for name in request.output_filter:
            if name not in outputs:
                raise invalid(f"output tensor alias not found in signature: {name}")
        response = predict_pb2.PredictResponse(model_spec=_answering(request.model_spec, version.number))
        for name in request.output_filter or outputs:
            response.outputs[name].CopyFrom(messages.tensor(outputs[name]))
        return response

    @_answers
    def Classify(  # noqa: N802
        self, request: classification_pb2.ClassificationRequest
    ) -> classification_pb2.ClassificationResponse:
        version = self._versions.get(*_wanted(request.model_spec))
        return classification_pb2.ClassificationResponse(
            model_spec=_answering(request.model_spec, version.number),
            result=inference.classify(version, request.input, request.model_spec.signature_name),
        )

    @_answers
    def Regress(self, request: regression_pb2.RegressionRequest) -> regression_pb2.RegressionResponse:  # noqa: N802
        version = self._versions.get(*_wanted(request.model_spec))
        return regression_pb2.RegressionResponse(
            model_spec=_answering(request.model_spec, version.number),
            result=inference.regress(version, request.input, request.model_spec.signature_name),
        )

    @_answers
    def GetModelMetadata(  # noqa: N802
        self, request: get_model_metadata_pb2.GetModelMetadataRequest
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        if not request.metadata_field:
            raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != "signature_def":
                raise invalid(f"Metadata field {field} is not supported")
        version = self._versions.get(*_wanted(request.model_spec))
        response = get_model_metadata_pb2.GetModelMetadataResponse(
            model_spec=messages.model_spec(request.model_spec.name, version.number)
        )
        response.metadata["signature_def"].Pack(messages.signature_map(version))
        return response


class _Models(model_service_pb2_grpc.ModelServiceServicer):  # type: ignore[misc]  # generated, untyped
    def __init__(self, versions: Versions) -> None:
        self._versions = versions

    @_answers
    def GetModelStatus(self, request: Any) -> Any:  # noqa: N802
        return messages.model_status(self._versions.statuses(*_wanted(request.model_spec)))
