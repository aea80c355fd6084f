"""The engine's log: messages that stay, and the status line beside a resource while it is being worked on."""

from __future__ import annotations

import contextlib
from typing import Any

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc


class Engine:
    """Speaks to the engine that started this provider; without an address everything said is dropped."""

    def __init__(self, address: str | None) -> None:
        self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address)) if address else None

    def status(self, urn: str, message: str) -> None:
        """Shows why a resource takes its time; the empty message clears it."""
        self._log(engine_pb2.INFO, urn, message, ephemeral=True)

    def info(self, urn: str, message: str) -> None:
        self._log(engine_pb2.INFO, urn, message)

    def warn(self, urn: str, message: str) -> None:
        self._log(engine_pb2.WARNING, urn, message)

    def _log(self, severity: Any, urn: str, message: str, *, ephemeral: bool = False) -> None:
        if self._stub is None:
            return
        # A message that the engine does not take (it is shutting down) must not fail the resource.
        with contextlib.suppress(grpc.RpcError):
            self._stub.Log(engine_pb2.LogRequest(severity=severity, message=message, urn=urn, ephemeral=ephemeral))
