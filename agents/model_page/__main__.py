"""Serves the page of a model server: `python3 -m agents.model_page PORT SERVER SETTINGS`.

SERVER is the URL of the server's REST API, to which requests below /v1/models/ are forwarded. SETTINGS is JSON with
what the page shows: `models`, their names, and `ink`, the value of a full pixel.
"""

from __future__ import annotations

import http.client
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

_FORWARDED = "/v1/models/"
_MOST_BYTES = 16 << 20
"""Of a request, which this pod holds in its memory."""
_SECONDS = 60.0
_JSON = "application/json"
_POLICY = "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""The page needs nothing of any other host, and no other page may frame it."""


class Page(BaseHTTPRequestHandler):
    """The page, its settings, and the model server behind it."""

    protocol_version = "HTTP/1.1"
    timeout = _SECONDS
    server_host: ClassVar[str]
    content: ClassVar[dict[str, tuple[str, bytes]]]
    """Type and content by path."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path in self.content:
            self._send(200, *self.content[path])
        elif path.startswith(_FORWARDED):
            self._forward(b"")
        else:
            self._refuse(404, f"{path}: there is no such page")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > _MOST_BYTES:
            self.close_connection = True  # the body stays unread
            self._refuse(413, f"a request has a Content-Length of at most {_MOST_BYTES} bytes")
            return
        body = self.rfile.read(int(length))
        if self.path.startswith(_FORWARDED):
            self._forward(body)
        else:
            self._refuse(404, f"{self.path}: only {_FORWARDED} takes requests")

    def _forward(self, body: bytes) -> None:
        connection = http.client.HTTPConnection(self.server_host, timeout=_SECONDS)
        try:
            connection.request(self.command, self.path, body or None, {"Content-Type": _JSON} if body else {})
            answer = connection.getresponse()
            self._send(answer.status, answer.getheader("Content-Type", _JSON), answer.read())
        except (OSError, http.client.HTTPException) as error:
            self._refuse(502, f"the model server does not answer: {error}")
        finally:
            connection.close()

    def _refuse(self, status: int, reason: str) -> None:
        self._send(status, _JSON, json.dumps({"error": reason}).encode())

    def _send(self, status: int, content_type: str, content: bytes) -> None:
        self.send_response(status)
        headers = {"Content-Type": content_type, "Content-Length": str(len(content)), "Cache-Control": "no-store"}
        for name, value in {**headers, "Content-Security-Policy": f"{_POLICY}; frame-ancestors 'none'"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing: a probe asks every few seconds."""


def serve(port: int, server: str, settings: str) -> ThreadingHTTPServer:
    """The page's HTTP server, which listens."""
    index = Path(__file__).with_name("index.html").read_bytes()
    content = {"/": ("text/html; charset=utf-8", index), "/settings": (_JSON, settings.encode())}
    made = type("Made", (Page,), {"server_host": urlsplit(server).netloc, "content": content})
    return ThreadingHTTPServer(("", port), made)


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], sys.argv[3]).serve_forever()
