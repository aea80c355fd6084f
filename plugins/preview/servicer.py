"""The ResourceProvider service: answers the calls of a preview, and refuses those that would reach a cloud."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, plugin_pb2, provider_pb2, provider_pb2_grpc

from tensorplane.core.errors import UserError
from tensorplane.plugins.cloud_models import check as cloud_models
from tensorplane.plugins.kubernetes.values import Properties, decode, encode
from tensorplane.plugins.preview import check, diff, outputs
from tensorplane.plugins.preview.sdk import ResourceType, Sdk

_CHANGES = provider_pb2.DiffResponse.DiffChanges
_KINDS = provider_pb2.PropertyDiff.Kind

Method = Callable[["Servicer", Any, Any], Any]


def _answer(method: Method) -> Method:
    """Turns every exception into lines for the user, never a traceback."""

    @functools.wraps(method)
    def answered(self: Servicer, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request, context)
        except UserError as refusal:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(refusal))
        except Exception as error:
            what = f"the preview-only provider failed in {method.__name__}: {type(error).__name__}: {error}"
            context.abort(grpc.StatusCode.INTERNAL, what)

    return answered


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Stands in for the provider of one package during a preview."""

    def __init__(self, sdk: Sdk, engine_address: str | None) -> None:
        self._sdk = sdk
        self._engine = engine_pb2_grpc.EngineStub(grpc.insecure_channel(engine_address)) if engine_address else None
        self._accepts_secrets = True

    # -- about the plugin

    @_answer
    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's names
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    @_answer
    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    @_answer
    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return plugin_pb2.PluginInfo(version=self._sdk.version)

    @_answer
    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: N802
        name, version = self._sdk.package, self._sdk.version
        return provider_pb2.GetSchemaResponse(schema=f'{{"name": "{name}", "version": "{version}"}}')

    @_answer
    def GetMapping(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.GetMappingResponse()

    @_answer
    def GetMappings(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.GetMappingsResponse()

    @_answer
    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    # -- configuration

    @_answer
    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        given = {key: value for key, value in decode(request.news).items() if key != "version"}
        found = check.check_names(given, self._sdk.provider, f"the provider of {self._sdk.package}")
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(found))

    @_answer
    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return _difference(diff.changes(decode(request.olds), decode(request.news)))

    @_answer
    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._accepts_secrets = request.acceptSecrets
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    # -- resources

    @_answer
    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        try:
            found = self._type(request.urn)
        except UserError as error:
            return provider_pb2.CheckResponse(failures=[provider_pb2.CheckFailure(reason=str(error))])
        news: Properties = diff.with_defaults(decode(request.news), decode(request.olds))
        values = cloud_models.check_inputs(_token(request.urn), news, found.arguments)
        self._log(request.urn, engine_pb2.INFO, values.coverage.message())
        problems = _merged(check.check_inputs(news, found.arguments, found.name), values.problems)
        for each in problems:
            if not each.certain:
                message = f"{_label(request.urn)}: {each.rendered_path}: {each.reason}"
                self._log(request.urn, engine_pb2.WARNING, message)
        failures = _failures([each for each in problems if each.certain])
        return provider_pb2.CheckResponse(inputs=self._encode(news), failures=failures)

    @_answer
    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        return _difference(diff.changes(decode(request.old_inputs), decode(request.news)))

    @_answer
    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        if not request.preview:
            raise self._refusal("create", request.urn)
        inputs = decode(request.properties)
        state = outputs.of_new(inputs, self._type(request.urn).resource)
        return provider_pb2.CreateResponse(properties=self._encode(state))

    @_answer
    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        if not request.preview:
            raise self._refusal("update", request.urn)
        found = self._type(request.urn)
        state = outputs.of_changed(decode(request.news), decode(request.olds), found.arguments, found.resource)
        return provider_pb2.UpdateResponse(properties=self._encode(state))

    @_answer
    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise self._refusal("delete", request.urn)

    @_answer
    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise self._refusal("read", request.urn)

    @_answer
    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise self._refusal("call", request.tok)

    @_answer
    def Call(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise self._refusal("call", request.tok)

    @_answer
    def Construct(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise self._refusal("construct", request.type)

    # -- helpers

    def _type(self, urn: str) -> ResourceType:
        return self._sdk.resource(_token(urn))

    def _refusal(self, operation: str, target: str) -> UserError:
        name = _label(target) if "::" in target else target
        remedy = f"install Pulumi's own: pulumi plugin install resource {self._sdk.package} {self._sdk.version}"
        return UserError(
            f"cannot {operation} {name}: this stand-in for the {self._sdk.package} provider only previews; {remedy}"
        )

    def _log(self, urn: str, severity: Any, message: str) -> None:
        if self._engine:
            self._engine.Log(engine_pb2.LogRequest(severity=severity, message=message, urn=urn))

    def _encode(self, properties: Properties) -> Any:
        return encode(properties, secrets=self._accepts_secrets)


def _token(urn: str) -> str:
    """The resource's own type out of `urn:pulumi:stack::project::parent$type::name`."""
    return urn.split("::")[2].rpartition("$")[2]


def _label(urn: str) -> str:
    return f"{_token(urn)} {urn.rpartition('::')[2]}"


def _merged(of_types: list[check.InputProblem], of_values: list[check.InputProblem]) -> list[check.InputProblem]:
    """One problem for each value: the SDK's, unless it is uncertain and the cloud's own model knows more."""
    certain = {each.path for each in of_types if each.certain}
    known = [each for each in of_values if each.path not in certain]
    replaced = {each.path for each in known}
    return [*(each for each in of_types if each.path not in replaced), *known]


def _failures(found: list[check.InputProblem]) -> list[Any]:
    # The path is part of the reason: if a failure names its property, the engine prints the value, even a secret.
    return [provider_pb2.CheckFailure(reason=f"{each.rendered_path}: {each.reason}") for each in found]


def _difference(changes: dict[str, str]) -> Any:
    detailed = {
        path: provider_pb2.PropertyDiff(kind=_KINDS.Value(kind), inputDiff=True) for path, kind in changes.items()
    }
    return provider_pb2.DiffResponse(
        changes=_CHANGES.DIFF_SOME if detailed else _CHANGES.DIFF_NONE,
        diffs=sorted({path.split(".")[0].split("[")[0] for path in detailed}),
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )
