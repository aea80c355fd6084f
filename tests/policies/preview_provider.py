"""Providers for previews of stacks that nobody has deployed. As real ones, they know a new resource's inputs alone.

What a cloud or an API server adds is unknown, and so is the resource's id."""

from __future__ import annotations

from typing import Any

from pulumi.runtime.proto import provider_pb2

from tensorplane.plugins.kubernetes import kinds
from tensorplane.plugins.kubernetes.values import UNKNOWN, decode, encode
from tests.recorded import provider


class Servicer(provider.Servicer):
    """Takes every input as it is."""

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        return provider_pb2.CheckResponse(inputs=request.news)

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        if not request.preview:
            return super().Create(request, context)
        inputs, urn = decode(request.properties), request.urn
        made = provider.created(kinds.token(urn), kinds.name(urn), inputs)
        return provider_pb2.CreateResponse(properties=encode(unknown_beside(inputs, made)))


def unknown_beside(inputs: Any, made: Any) -> Any:
    """The value with what is not in the inputs as unknown."""
    if isinstance(inputs, dict) and isinstance(made, dict):
        return {key: unknown_beside(inputs.get(key), value) for key, value in made.items()}
    return inputs if made == inputs else UNKNOWN
