"""The driver's sockets: one for CSI, one for registration with the kubelet."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass

from tensorplane.embedded.csi.controller import Controller
from tensorplane.embedded.csi.failover import Failover
from tensorplane.embedded.csi.generated import csi_pb2, registration_pb2
from tensorplane.embedded.csi.identity import Identity, Registration
from tensorplane.embedded.csi.node import Node
from tensorplane.embedded.csi.refusal import Refusal
from tensorplane.embedded.csi.store import Store

_THREADS = 8
_FULL = (errno.ENOSPC, errno.EDQUOT)


def csi(socket: Path, store: Store, node: str, failover: Failover | None = None) -> grpc.Server:
    """The CSI server for the provisioner, the snapshotter, the resizer and the kubelet; not started yet."""
    services = {"Identity": Identity(store), "Controller": Controller(store, failover), "Node": Node(store, node)}
    return _server(socket, [_handlers(csi_pb2.DESCRIPTOR, name, one) for name, one in services.items()])


def registration(socket: Path, csi_socket: Path) -> grpc.Server:
    """The server for the kubelet's plugin watcher, which looks for sockets in its folder."""
    handlers = _handlers(registration_pb2.DESCRIPTOR, "Registration", Registration(csi_socket))
    return _server(socket, [handlers])


def _server(socket: Path, handlers: list[grpc.GenericRpcHandler]) -> grpc.Server:
    socket.parent.mkdir(parents=True, exist_ok=True)
    socket.unlink(missing_ok=True)  # left by a killed driver
    server = grpc.server(ThreadPoolExecutor(_THREADS), handlers=handlers)
    server.add_insecure_port(f"unix:{socket.absolute()}")
    return server


def _handlers(file: Any, service: str, servicer: object) -> grpc.GenericRpcHandler:
    """The handlers of those methods of a service that the servicer has."""
    description = file.services_by_name[service]
    methods = {
        method.name: grpc.unary_unary_rpc_method_handler(
            _answering(getattr(servicer, method.name)),
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=GetMessageClass(method.output_type).SerializeToString,
        )
        for method in description.methods
        if hasattr(servicer, method.name)
    }
    return grpc.method_handlers_generic_handler(description.full_name, methods)


def _answering(method: Callable[[Any], Any]) -> Callable[[Any, grpc.ServicerContext], Any]:
    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(request)
        except Refusal as refusal:
            code, reason = refusal.code, refusal.reason
        except Exception as error:
            traceback.print_exc()
            full = isinstance(error, OSError) and error.errno in _FULL
            code = grpc.StatusCode.RESOURCE_EXHAUSTED if full else grpc.StatusCode.INTERNAL
            reason = f"{type(error).__name__}: {error}"
        return context.abort(code, reason)

    return answer
