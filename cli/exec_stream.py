"""Runs a program in a pod through the API server, and passes bytes to it and from it, as `kubectl exec` does."""

from __future__ import annotations

import contextlib
import json
import select
from collections.abc import Sequence
from typing import Any

from websocket import ABNF, WebSocketException

from tensorplane.components.base.problems import legible
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube

_INPUT, _OUTPUT, _ERRORS, _STATUS, _CLOSE = 0, 1, 2, 3, 255
"""Channels: the first byte of each message."""
_FRAME = 1 << 17
"""Bytes of a message: larger ones cost twice the processor time, and smaller ones more messages."""
_CLOSES_INPUT = "v5.channel.k8s.io"
"""The protocol in which a client can end the program's standard input."""
_LONGEST_REASON = 2000
_TRACEBACK = "Traceback (most recent call last):"
"""The first line of a Python program's error, of which only the last is the reason."""


class Exec:
    """A running program."""

    def __init__(self, api: Kube, pod: str, command: Sequence[str]) -> None:
        """`pod`: its path in the API."""
        flags = dict.fromkeys(("stdin", "stdout", "stderr"), "true")
        self._socket = api.websocket(f"{pod}/exec", command=list(command), **flags)
        self._output = bytearray()
        self._errors = bytearray()
        self._status = bytearray()
        self._open = True

    def write(self, data: bytes) -> int:
        """Passes bytes to the program's standard input. A UserError with its reason if it has ended."""
        for start in range(0, len(data), _FRAME):
            while self._open and self._has_message():
                self._take()
            try:
                if not self._open:
                    raise BrokenPipeError
                self._socket.send_binary(bytes([_INPUT]) + data[start : start + _FRAME])
            except (OSError, WebSocketException):
                self._wait()
                raise UserError("the program in the pod ended before it had read everything") from None
        return len(data)

    def read(self, size: int) -> bytes:
        """At most so many bytes of its standard output; none once it has ended."""
        while not self._output and self._open:
            self._take()
        found = bytes(self._output[:size])
        del self._output[:size]
        return found

    def finish(self) -> bytes:
        """Closes its standard input and waits for its end: what it printed. UserError with its reason if it failed."""
        if self._open and _CLOSES_INPUT in (self._socket.getheaders() or {}).values():
            with contextlib.suppress(OSError, WebSocketException):
                self._socket.send_binary(bytes([_CLOSE, _INPUT]))
        return self._wait()

    def _wait(self) -> bytes:
        while self._open:
            self._take()
        self._socket.close()
        status = json.loads(self._status) if self._status else {"message": "the connection ended"}
        if status.get("status") != "Success":
            lines = self._errors.decode(errors="replace").strip().splitlines()
            if lines[:1] == [_TRACEBACK]:
                lines = lines[-1:]
            # They may name files of a volume, whose names may control a terminal.
            raise UserError(*(legible(line, _LONGEST_REASON) for line in lines or [str(status.get("message"))]))
        return bytes(self._output)

    def _has_message(self) -> bool:
        sock: Any = self._socket.sock
        pending = getattr(sock, "pending", None)  # what TLS has decrypted, and the socket reports no more
        return bool(pending and pending()) or bool(select.select([sock], [], [], 0)[0])

    def _take(self) -> None:
        """Handles the next message."""
        try:
            opcode, frame = self._socket.recv_data_frame(control_frame=True)
        except (OSError, WebSocketException):
            self._open = False
            return
        if opcode == ABNF.OPCODE_CLOSE:
            self._open = False
        elif opcode in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT) and len(frame.data) > 1:
            buffer = {_OUTPUT: self._output, _ERRORS: self._errors, _STATUS: self._status}.get(frame.data[0])
            if buffer is not None:
                buffer += memoryview(frame.data)[1:]
