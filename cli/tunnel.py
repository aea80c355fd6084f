"""A local port whose connections end at a port of a pod, through the API server, as `kubectl port-forward` does."""

from __future__ import annotations

import contextlib
import selectors
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from websocket import ABNF, WebSocket, WebSocketException

from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube

HOST = "127.0.0.1"
"""Only this machine may connect: what is behind the tunnel may have no login."""
_DATA, _ERROR = 0, 1
"""Channels: the first byte of each message."""
_PORT_BYTES = 2
"""Length of the first message of each channel, which repeats the port."""
_CHUNK = 1 << 16
_LOOK_SECONDS = 2.0


@contextlib.contextmanager
def opened(api: Kube, pod: str, port: int, local: int | None = None) -> Iterator[int]:
    """The local port, as long as the context lasts. A UserError if the API server refuses, or if the port is taken.

    `pod`: its path in the API. `local`: the wanted port; by default `port`, or any if that is taken.
    """
    _connect(api, pod, port).close()  # a refusal is reported here, and not to the browser

    class Connection(socketserver.BaseRequestHandler):
        """One connection. If the pod does not take it, it is closed, which its client reports."""

        def handle(self) -> None:
            with contextlib.suppress(UserError, OSError, WebSocketException):
                remote = _connect(api, pod, port)
                with contextlib.closing(remote):
                    _pass(self.request, remote)

    with _server(Connection, port if local is None else local, any_other=local is None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()


def keep(is_needed: Callable[[], bool]) -> None:
    """Returns once what is behind the tunnel has ended; Ctrl-C ends it before."""
    while is_needed():
        time.sleep(_LOOK_SECONDS)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    block_on_close = False
    request_queue_size = 64


def _server(handler: type[socketserver.BaseRequestHandler], port: int, *, any_other: bool) -> _Server:
    try:
        return _Server((HOST, port), handler)
    except OSError as error:
        if any_other:
            return _Server((HOST, 0), handler)
        raise UserError(f"--port: {port}: {error.strerror}; choose another, or leave it out") from None


def _connect(api: Kube, pod: str, port: int) -> WebSocket:
    """A WebSocket for one connection: the protocol carries one for each port."""
    return api.websocket(f"{pod}/portforward", ports=str(port))


def _pass(near: socket.socket, far: WebSocket) -> None:
    """Passes bytes both ways until one side ends.

    On one thread, because TLS does not allow to read and to write at the same time.
    """
    began: set[int] = set()
    end: Any = far.sock
    with selectors.DefaultSelector() as both:
        both.register(near, selectors.EVENT_READ)
        both.register(end, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in both.select(0 if _has_more(far) else None)}
            if near in ready:
                data = near.recv(_CHUNK)
                if not data:
                    return
                far.send_binary(bytes([_DATA]) + data)
            if end in ready or _has_more(far):
                opcode, frame = far.recv_data_frame(control_frame=True)
                if opcode == ABNF.OPCODE_CLOSE:
                    return
                if opcode == ABNF.OPCODE_BINARY and not _takes(near, frame.data, began):
                    return


def _takes(near: socket.socket, message: bytes, began: set[int]) -> bool:
    """Handles a message; False if it is an error of the pod's side."""
    channel, data = message[0], message[1:]
    if channel not in began:
        began.add(channel)
        data = data[_PORT_BYTES:]
    if channel == _ERROR and data:
        return False
    if channel == _DATA and data:
        near.sendall(data)
    return True


def _has_more(far: WebSocket) -> bool:
    """Whether TLS has decrypted bytes that the socket does not report any more."""
    pending = getattr(far.sock, "pending", None)
    return bool(pending and pending())
