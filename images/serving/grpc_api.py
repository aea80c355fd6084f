"""TF Serving's gRPC API. MultiInference answers that it is not implemented."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import HealthServicer
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    model_management_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from . import configuration, inference, messages
from .flags import Flags
from .model import DEFAULT_SIGNATURE
from .models import Models
from .monitoring import Metrics
from .refusal import Refusal, internal, invalid
from .serving import Serving
from .versions import Wanted

log = logging.getLogger("serving-stand-in")
_THREADS = 16


def server(serving: Serving, given: Flags) -> grpc.Server:
    """The server, bound to the port and not started. Raises OSError if the port is in use."""
    made = grpc.server(
        futures.ThreadPoolExecutor(_THREADS, thread_name_prefix="grpc"),
        # Without it, a second server would silently share the port. TF Serving's limit of message sizes.
        options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        _Prediction(serving.models, serving.metrics), made
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(_Models(serving.models), made)
    if given.enable_grpc_healthcheck_service:
        # It says that the server serves, with or without a model.
        servicer = HealthServicer()
        servicer.set("", health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(servicer, made)
    try:
        made.add_insecure_port(f"0.0.0.0:{given.port}")
    except RuntimeError as error:
        raise OSError(f"cannot listen on port {given.port}") from error
    return made


def _wanted(spec: model_pb2.ModelSpec) -> Wanted:
    if not spec.name:
        raise invalid("Missing ModelSpec")
    return Wanted(spec.name, spec.version.value if spec.HasField("version") else None, spec.version_label)


def _answering(spec: model_pb2.ModelSpec, number: int) -> model_pb2.ModelSpec:
    return messages.model_spec(spec.name, number, spec.signature_name or DEFAULT_SIGNATURE)


def _answers(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any, grpc.ServicerContext], Any]:
    def guarded(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request)
        except Refusal as error:
            refusal = error
        except Exception as error:  # whatever a model raises, the answer says so in one line
            log.exception("%s", method.__name__)
            refusal = internal(error)
        return context.abort(refusal.code, refusal.message)

    return guarded


def _counting(api: str) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any, grpc.ServicerContext], Any]]:
    def of(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any, grpc.ServicerContext], Any]:
        @_answers
        def measured(self: Any, request: Any) -> Any:
            with self._metrics.request(request.model_spec.name, api, "GRPC"):
                return method(self, request)

        return measured

    return of


class _Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):  # type: ignore[misc]  # generated, untyped
    def __init__(self, models: Models, metrics: Metrics) -> None:
        self._models, self._metrics = models, metrics

    @_counting("Predict")
    def Predict(self, request: predict_pb2.PredictRequest) -> predict_pb2.PredictResponse:  # noqa: N802
        version = self._models.get(_wanted(request.model_spec))
        signature_name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        inputs = {name: messages.array(tensor) for name, tensor in request.inputs.items()}
        outputs = version.predict(inputs, signature_name, request.output_filter)
        for name in request.output_filter:
            if name not in outputs:
                raise invalid(f"output tensor alias not found in signature: {name}")
        response = predict_pb2.PredictResponse(model_spec=_answering(request.model_spec, version.number))
        for name in request.output_filter or outputs:
            response.outputs[name].CopyFrom(messages.tensor(outputs[name]))
        return response

    @_counting("Classify")
    def Classify(  # noqa: N802
        self, request: classification_pb2.ClassificationRequest
    ) -> classification_pb2.ClassificationResponse:
        version = self._models.get(_wanted(request.model_spec))
        return classification_pb2.ClassificationResponse(
            model_spec=_answering(request.model_spec, version.number),
            result=inference.classify(version, request.input, request.model_spec.signature_name),
        )

    @_counting("Regress")
    def Regress(self, request: regression_pb2.RegressionRequest) -> regression_pb2.RegressionResponse:  # noqa: N802
        version = self._models.get(_wanted(request.model_spec))
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
        version = self._models.get(_wanted(request.model_spec))
        response = get_model_metadata_pb2.GetModelMetadataResponse(
            model_spec=messages.model_spec(request.model_spec.name, version.number)
        )
        response.metadata["signature_def"].Pack(messages.signature_map(version))
        return response


class _Models(model_service_pb2_grpc.ModelServiceServicer):  # type: ignore[misc]  # generated, untyped
    def __init__(self, models: Models) -> None:
        self._models = models

    @_answers
    def GetModelStatus(self, request: Any) -> Any:  # noqa: N802
        return messages.model_status(self._models.statuses(_wanted(request.model_spec)))

    @_answers
    def HandleReloadConfigRequest(self, request: Any) -> Any:  # noqa: N802
        response = model_management_pb2.ReloadConfigResponse()
        try:
            self._models.replace(configuration.from_message(request.config))
        except Refusal as refusal:
            response.status.error_code = refusal.code.value[0]
            response.status.error_message = refusal.message
        return response
