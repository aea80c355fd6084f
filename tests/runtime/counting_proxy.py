"""A TCP proxy on this machine that counts the bytes that a server sends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class CountingProxy:
    """Forwards connections to a server."""

    def __init__(self, listener: socket.socket, server: str) -> None:
        self._listener, self._server = listener, server
        self.sent = 0
        """Bytes from the server."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        host, port = self._server.split(":")
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection((host, int(port)))
                except OSError:
                    client.close()
                    continue
                threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self.sent += len(data) * counted
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(address: str, server: str) -> Iterator[CountingProxy]:
    """Listen at an address for a server at another."""
    host, port = address.split(":")
    with socket.create_server((host, int(port))) as listener:
        yield CountingProxy(listener, server)
