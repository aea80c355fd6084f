"""One provider for all packages: invents what a cloud would return, and compares as pulumi-kubernetes does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from tensorplane.plugins.kubernetes import checkpoint, helm_release, kinds, provider_config
from tensorplane.plugins.kubernetes import diff as kubernetes_diff
from tensorplane.plugins.kubernetes.engine import Engine
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import UNKNOWN, Properties, decode, encode, has_unknown
from tensorplane.plugins.preview import diff as cloud_diff
from tests.support import computed

PACKAGES = ("aws", "azure-native", "gcp", "kubernetes")
_CHANGES = provider_pb2.DiffResponse.DiffChanges
_KINDS = provider_pb2.PropertyDiff.Kind
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
_MAX_MESSAGE = 400 * 1024 * 1024  # the engine's own limit


@contextmanager
def serving(servicer: Servicer | None = None) -> Iterator[dict[str, str]]:
    """Serves in this process while the context lasts. Yields the environment in which the engine finds it."""
    options = [(f"grpc.max_{way}_message_length", _MAX_MESSAGE) for way in ("send", "receive")]
    server = grpc.server(futures.ThreadPoolExecutor(8), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer or Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield {"PULUMI_DEBUG_PROVIDERS": ",".join(f"{package}:{port}" for package in PACKAGES)}
    finally:
        server.stop(grace=None).wait()


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Stateless, so that one instance serves all packages and several engines at once."""

    def __init__(self) -> None:
        # Not connected to a cluster.
        self._session = Session(Engine(None))

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's names
        return provider_pb2.ProviderHandshakeResponse()

    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return plugin_pb2.PluginInfo(version="0.0.0")

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        old, new = decode(request.olds), decode(request.news)
        return _difference(compared_settings(kinds.token(request.urn), old, new))

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        # Plain values only; the engine itself marks the outputs of secret inputs.
        return provider_pb2.ConfigureResponse(acceptSecrets=False, supportsPreview=True)

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        inputs = decode(request.news)
        if kinds.token(request.urn) == CONFIG_MAP:
            inputs = with_digests(inputs)
        return provider_pb2.CheckResponse(inputs=encode(inputs))

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        inputs, state, news = decode(request.old_inputs), decode(request.olds), decode(request.news)
        return _difference(*self.compared(request.urn, request.id, inputs, state, news, list(request.ignoreChanges)))

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        inputs, token, name = decode(request.properties), kinds.token(request.urn), kinds.name(request.urn)
        state = inputs if has_unknown(inputs) else created(token, name, inputs)
        return provider_pb2.CreateResponse(id=f"{name}-id", properties=encode(state))

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.UpdateResponse(properties=encode({**decode(request.olds), **decode(request.news)}))

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.InvokeResponse(**{"return": encode(computed.ANSWERED[request.tok])})

    def compared(
        self, urn: str, identity: str, inputs: Properties, state: Properties, news: Properties, ignored: list[str]
    ) -> tuple[dict[str, str], bool]:
        """What differs, by path, and whether the old object goes before the new one comes."""
        token = kinds.token(urn)
        if token == kinds.HELM_RELEASE:
            release = helm_release.ReleaseResource(self._session)
            return release.diff(identity, state, inputs, news, ignored).details, True
        if token.startswith("kubernetes:"):
            state = {**state, checkpoint.INPUTS: inputs}
            found = kubernetes_diff.diff(self._session, urn, state, news, ignored)
            return found.detailed, found.delete_before_replace
        return cloud_diff.changes(inputs, news), False


def compared_settings(token: str, old: Properties, new: Properties) -> dict[str, str]:
    """What differs in the settings of a provider, by path."""
    if token != "pulumi:providers:kubernetes":
        return cloud_diff.changes(old, new)
    changed, replaces = provider_config.diff(old, new)
    return {key: "UPDATE_REPLACE" if key in replaces else "UPDATE" for key in changed}


def created(token: str, name: str, inputs: Mapping[str, Any]) -> Properties:
    """The state of a new resource."""
    always = {"arn": f"arn:aws:::{name}"} if token.startswith("aws:") else {}
    return {**always, **computed.of(token, name, inputs)}


def with_digests(config_map: Properties) -> Properties:
    """A ConfigMap with the digests of its files in place of the files, so that recordings stay small."""
    return {
        key: {file: _digest(text) for file, text in value.items()}
        if key in ("data", "binaryData") and isinstance(value, dict)
        else value
        for key, value in config_map.items()
    }


def _digest(text: Any) -> Any:
    return text if text is UNKNOWN else hashlib.sha256(str(text).encode()).hexdigest()[:12]


def _difference(detailed: Mapping[str, str], delete_before_replace: bool = False) -> Any:
    return provider_pb2.DiffResponse(
        changes=_CHANGES.DIFF_SOME if detailed else _CHANGES.DIFF_NONE,
        diffs=sorted({path.split(".")[0].split("[")[0] for path in detailed}),
        replaces=[path for path, kind in detailed.items() if kind.endswith("_REPLACE")],
        deleteBeforeReplace=delete_before_replace,
        detailedDiff={
            path: provider_pb2.PropertyDiff(kind=_KINDS.Value(kind), inputDiff=True) for path, kind in detailed.items()
        },
        hasDetailedDiff=True,
    )
