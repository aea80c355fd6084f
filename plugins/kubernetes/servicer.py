"""The ResourceProvider service that the engine calls: decodes, dispatches, encodes, and turns errors into answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import any_pb2, empty_pb2
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

from tensorplane.core.errors import ApiError, UserError
from tensorplane.plugins.kubernetes import explain, kinds, provider_config
from tensorplane.plugins.kubernetes.engine import Engine
from tensorplane.plugins.kubernetes.init_failed import InitFailedError
from tensorplane.plugins.kubernetes.resources import ObjectOperations, ResourceOperations
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.settings import Settings
from tensorplane.plugins.kubernetes.values import decode, encode

VERSION = "4.34.2"
"""The version of pulumi-kubernetes whose behaviour this provider follows: that of the pinned SDK."""

_DIFF_KINDS = provider_pb2.PropertyDiff.Kind
_CHANGES = provider_pb2.DiffResponse.DiffChanges

Method = Callable[["Servicer", Any, Any], Any]


def _answer(method: Method) -> Method:
    """Turns every exception into lines for the user, never a traceback."""

    @functools.wraps(method)
    def answered(self: Servicer, request: Any, context: grpc.ServicerContext) -> Any:
        self.session.working_on(getattr(request, "urn", ""))
        try:
            return method(self, request, context)
        except InitFailedError as error:
            context.abort_with_status(self._partial(error))
        except ApiError as error:
            context.abort(grpc.StatusCode.UNKNOWN, "\n".join(explain.lines(error)))
        except UserError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        except Exception as error:
            context.abort(
                grpc.StatusCode.INTERNAL,
                f"the embedded Kubernetes provider failed in {method.__name__}: {type(error).__name__}: {error}",
            )

    return answered


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """A provider process; the engine configures it once and then calls it from many threads."""

    def __init__(self, engine_address: str | None) -> None:
        self.session = Session(Engine(engine_address))
        self._objects = ObjectOperations(self.session)
        self._releases: ResourceOperations | None = None
        self._accepts_secrets = True

    # -- about the plugin

    @_answer
    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's names
        self.session.engine = Engine(request.engine_address)
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, supports_autonaming_configuration=True)

    @_answer
    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.session.engine = Engine(request.address)
        return empty_pb2.Empty()

    @_answer
    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        from pulumi.runtime.proto import plugin_pb2

        return plugin_pb2.PluginInfo(version=VERSION)

    @_answer
    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.GetSchemaResponse(schema=f'{{"name": "kubernetes", "version": "{VERSION}"}}')

    @_answer
    def GetMapping(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.GetMappingResponse()

    @_answer
    def GetMappings(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.GetMappingsResponse()

    @_answer
    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise UserError(kinds.refusal(request.tok))

    @_answer
    def Construct(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise UserError(kinds.refusal(request.type))

    @_answer
    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.session.cancelled.set()
        return empty_pb2.Empty()

    # -- configuration

    @_answer
    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        found = provider_config.problems(request.urn, decode(request.news))
        failures = [provider_pb2.CheckFailure(property=key, reason=reason) for key, reason in found]
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    @_answer
    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        changed, replaces = provider_config.diff(decode(request.olds), decode(request.news))
        changes = _CHANGES.DIFF_SOME if changed else _CHANGES.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes, diffs=changed, replaces=replaces)

    @_answer
    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._accepts_secrets = request.acceptSecrets
        self.session.configure(Settings.read(request.variables))
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, supports_autonaming_configuration=True
        )

    # -- resources

    @_answer
    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        autonaming = request.autonaming if request.HasField("autonaming") else None
        olds, news = decode(request.olds), decode(request.news)
        if olds and self.session.skips_updates(request.urn):
            return provider_pb2.CheckResponse(inputs=request.olds)
        resources = self._resources(request.urn)
        try:
            inputs = resources.check(request.urn, olds, news, request.randomSeed, autonaming)
        except UserError as error:
            failures = [provider_pb2.CheckFailure(reason=line) for line in error.lines]
            return provider_pb2.CheckResponse(inputs=request.news, failures=failures)
        return provider_pb2.CheckResponse(inputs=self._encode(inputs))

    @_answer
    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        state, news = decode(request.olds), decode(request.news)
        found = self._resources(request.urn).diff(request.urn, request.id, state, news, list(request.ignoreChanges))
        detailed = {
            path: provider_pb2.PropertyDiff(kind=_DIFF_KINDS.Value(kind), inputDiff=kind.startswith("DELETE"))
            for path, kind in found.detailed.items()
        }
        return provider_pb2.DiffResponse(
            changes=_CHANGES.DIFF_SOME if detailed else _CHANGES.DIFF_NONE,
            replaces=found.replaces,
            deleteBeforeReplace=found.delete_before_replace,
            detailedDiff=detailed,
            hasDetailedDiff=True,
        )

    @_answer
    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        resources, news = self._resources(request.urn), decode(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=self._encode(resources.preview_create(request.urn, news)))
        resource_id, state = resources.create(request.urn, news, request.timeout)
        return provider_pb2.CreateResponse(id=resource_id, properties=self._encode(state))

    @_answer
    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        inputs, state = decode(request.inputs), decode(request.properties)
        resource_id, state, inputs = self._resources(request.urn).read(request.urn, request.id, inputs, state)
        if not resource_id:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(id=resource_id, properties=self._encode(state), inputs=self._encode(inputs))

    @_answer
    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        resources, ignore_changes = self._resources(request.urn), list(request.ignoreChanges)
        state, news = decode(request.olds), decode(request.news)
        if request.preview:
            state = resources.preview_update(request.urn, request.id, state, news, ignore_changes)
        else:
            state = resources.update(request.urn, request.id, state, news, ignore_changes, request.timeout)
        return provider_pb2.UpdateResponse(properties=self._encode(state))

    @_answer
    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        state = decode(request.properties)
        self._resources(request.urn).delete(request.urn, request.id, state, request.timeout)
        return empty_pb2.Empty()

    # -- helpers

    def _resources(self, urn: str) -> ResourceOperations:
        if kinds.token(urn) != kinds.HELM_RELEASE:
            return self._objects
        if self._releases is None:
            # Few programs use helm, and only after the provider is configured.
            from tensorplane.plugins.kubernetes.releases import Releases

            self._releases = Releases(self.session)
        return self._releases

    def _encode(self, properties: dict[str, Any]) -> Any:
        return encode(properties, secrets=self._accepts_secrets)

    def _partial(self, error: InitFailedError) -> grpc.Status:
        detail = provider_pb2.ErrorResourceInitFailed(
            id=error.resource_id,
            properties=self._encode(error.state),
            reasons=error.reasons,
            inputs=self._encode(error.inputs) if error.inputs else None,
        )
        packed = any_pb2.Any()
        packed.Pack(detail)
        code = grpc.StatusCode.UNKNOWN
        status = status_pb2.Status(code=code.value[0], message=error.message, details=[packed])
        return _Status(code, error.message, (("grpc-status-details-bin", status.SerializeToString()),))


class _Status(grpc.Status):  # type: ignore[misc]
    def __init__(self, code: grpc.StatusCode, details: str, trailing_metadata: tuple[tuple[str, bytes], ...]) -> None:
        self.code = code
        self.details = details
        self.trailing_metadata = trailing_metadata
