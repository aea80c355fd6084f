"""The engine's log: permanent messages, and the status line of a resource during its operation."""

from __future__ import annotations

import contextlib
from typing import Any

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc


class Engine:
    """The engine that started this provider; without an address all messages are dropped."""

    def __init__(self, address: str | None) -> None:
        self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address)) if address else None

    def status(self, urn: str, message: str) -> None:
        """Shows what a resource is waiting for; an empty message clears it."""
        self._log(engine_pb2.INFO, urn, message, ephemeral=True)

    def info(self, urn: str, message: str) -> None:
        self._log(engine_pb2.INFO, urn, message)

    def warn(self, urn: str, message: str) -> None:
        self._log(engine_pb2.WARNING, urn, message)

    def _log(self, severity: Any, urn: str, message: str, *, ephemeral: bool = False) -> None:
        if self._stub is None:
            return
        # A message that the engine does not accept (it is shutting down) must not fail the resource.
        with contextlib.suppress(grpc.RpcError):
            self._stub.Log(engine_pb2.LogRequest(severity=severity, message=message, urn=urn, ephemeral=ephemeral))
