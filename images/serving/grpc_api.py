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
from .error import ServingError, internal_error, invalid_argument
from .flags import Flags
from .model import DEFAULT_SIGNATURE
from .models import Models
from .monitoring import Metrics
from .serving import Serving
from .versions import VersionRequest

log = logging.getLogger("serving-stand-in")
_THREADS = 16


def server(serving: Serving, flags: Flags) -> grpc.Server:
    """The server, bound to the port and not started. Raises OSError if the port is in use."""
    server = grpc.server(
        futures.ThreadPoolExecutor(_THREADS, thread_name_prefix="grpc"),
        # Without it, a second server would silently share the port. TF Serving's limit of message sizes.
        options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        _PredictionServicer(serving.models, serving.metrics), server
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(_ModelServicer(serving.models), server)
    if flags.enable_grpc_healthcheck_service:
        # It says that the server serves, with or without a model.
        servicer = HealthServicer()
        servicer.set("", health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    try:
        server.add_insecure_port(f"0.0.0.0:{flags.port}")
    except RuntimeError as error:
        raise OSError(f"cannot listen on port {flags.port}") from error
    return server


def _requested_version(spec: model_pb2.ModelSpec) -> VersionRequest:
    if not spec.name:
        raise invalid_argument("Missing ModelSpec")
    return VersionRequest(spec.name, spec.version.value if spec.HasField("version") else None, spec.version_label)


def _model_spec(spec: model_pb2.ModelSpec, number: int) -> model_pb2.ModelSpec:
    return messages.model_spec(spec.name, number, spec.signature_name or DEFAULT_SIGNATURE)


def _aborts_on_error(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any, grpc.ServicerContext], Any]:
    def handler(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request)
        except ServingError as known:
            error = known
        except Exception as unexpected:  # whatever a model raises, the answer says so in one line
            log.exception("%s", method.__name__)
            error = internal_error(unexpected)
        return context.abort(error.code, error.message)

    return handler


def _with_metrics(api: str) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any, grpc.ServicerContext], Any]]:
    def decorate(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any, grpc.ServicerContext], Any]:
        @_aborts_on_error
        def measured(self: Any, request: Any) -> Any:
            with self._metrics.request(request.model_spec.name, api, "GRPC"):
                return method(self, request)

        return measured

    return decorate


class _PredictionServicer(prediction_service_pb2_grpc.PredictionServiceServicer):  # type: ignore[misc]  # generated, untyped
    def __init__(self, models: Models, metrics: Metrics) -> None:
        self._models, self._metrics = models, metrics

    @_with_metrics("Predict")
    def Predict(self, request: predict_pb2.PredictRequest) -> predict_pb2.PredictResponse:  # noqa: N802
        version = self._models.get(_requested_version(request.model_spec))
        signature_name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        inputs = {name: messages.array(tensor) for name, tensor in request.inputs.items()}
        outputs = version.predict(inputs, signature_name, request.output_filter)
        for name in request.output_filter:
            if name not in outputs:
                raise invalid_argument(f"output tensor alias not found in signature: {name}")
        response = predict_pb2.PredictResponse(model_spec=_model_spec(request.model_spec, version.number))
        for name in request.output_filter or outputs:
            response.outputs[name].CopyFrom(messages.tensor(outputs[name]))
        return response

    @_with_metrics("Classify")
    def Classify(  # noqa: N802
        self, request: classification_pb2.ClassificationRequest
    ) -> classification_pb2.ClassificationResponse:
        version = self._models.get(_requested_version(request.model_spec))
        return classification_pb2.ClassificationResponse(
            model_spec=_model_spec(request.model_spec, version.number),
            result=inference.classify(version, request.input, request.model_spec.signature_name),
        )

    @_with_metrics("Regress")
    def Regress(self, request: regression_pb2.RegressionRequest) -> regression_pb2.RegressionResponse:  # noqa: N802
        version = self._models.get(_requested_version(request.model_spec))
        return regression_pb2.RegressionResponse(
            model_spec=_model_spec(request.model_spec, version.number),
            result=inference.regress(version, request.input, request.model_spec.signature_name),
        )

    @_aborts_on_error
    def GetModelMetadata(  # noqa: N802
        self, request: get_model_metadata_pb2.GetModelMetadataRequest
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        if not request.metadata_field:
            raise invalid_argument("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != "signature_def":
                raise invalid_argument(f"Metadata field {field} is not supported")
        version = self._models.get(_requested_version(request.model_spec))
        response = get_model_metadata_pb2.GetModelMetadataResponse(
            model_spec=messages.model_spec(request.model_spec.name, version.number)
        )
        response.metadata["signature_def"].Pack(messages.signature_map(version))
        return response


class _ModelServicer(model_service_pb2_grpc.ModelServiceServicer):  # type: ignore[misc]  # generated, untyped
    def __init__(self, models: Models) -> None:
        self._models = models

    @_aborts_on_error
    def GetModelStatus(self, request: Any) -> Any:  # noqa: N802
        return messages.model_status(self._models.statuses(_requested_version(request.model_spec)))

    @_aborts_on_error
    def HandleReloadConfigRequest(self, request: Any) -> Any:  # noqa: N802
        response = model_management_pb2.ReloadConfigResponse()
        try:
            self._models.replace(configuration.from_message(request.config))
        except ServingError as error:
            response.status.error_code = error.code.value[0]
            response.status.error_message = error.message
        return response
