"""A server on this machine that answers as the hosts of releases do: redirects, lengths, ranges, and failures."""

from __future__ import annotations

import hashlib
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest

from tensorplane.toolchain import download, releases
from tests.support import ports

_PROBE = "bytes=0-0"
"""By which a client looks whether a host answers."""
Fault = Literal["missing", "cut off", "stalled", "no ranges", "broken"]


@dataclass
class StandInReleases:
    """Files by the path of their URL, and what goes wrong with each."""

    address: str
    files: dict[str, bytes | Path] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    """The next answers of a path; after them it answers as it should."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Path and range of each request, without probes."""
    stalling: threading.Event = field(default_factory=threading.Event)
    """Set once an answer has stalled; a client's stall limit ends it."""

    def url(self, name: str, content: bytes | Path, *faults: Fault) -> str:
        """Publishes a file; its URL, which redirects to another path as those of GitHub do."""
        self.files[f"/assets/{name}"] = content
        self.faults[f"/assets/{name}"] = list(faults)
        return f"{self.address}/releases/{name}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, stand_in: StandInReleases) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.stand_in = stand_in
        self.over = threading.Event()

    def handle_error(self, *_: object) -> None:
        """A client that goes away is one of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        stand_in = self.server.stand_in
        # A client that takes this server as its proxy asks for the whole URL.
        path = urlsplit(self.path).path
        span = self.headers["Range"] or ""
        if path.startswith("/releases/"):
            self._head(302, 0, Location=path.replace("/releases/", f"{stand_in.address}/assets/"))
        elif span == _PROBE:
            self._send(path, span, None)
        else:
            stand_in.requests.append((path, span))
            left = stand_in.faults.get(path)
            self._send(path, span, left.pop(0) if left else None)

    def _send(self, path: str, span: str, fault: Fault | None) -> None:
        content = self.server.stand_in.files.get(path)
        if content is None or fault in ("missing", "broken"):
            self._head(502 if fault == "broken" else 404, 0)
            return
        data = content.read_bytes() if isinstance(content, Path) else content
        if fault == "no ranges":
            span = ""
        start = int(span.removeprefix("bytes=").partition("-")[0]) if span else 0
        end = 1 if span == _PROBE else len(data)
        if span and start >= len(data):
            self._head(416, 0)
            return
        if span:
            self._head(206, end - start, Content_Range=f"bytes {start}-{end - 1}/{len(data)}")
        else:
            self._head(200, len(data))
        if fault in ("cut off", "stalled"):
            end -= (end - start) // 2
        self.wfile.write(data[start:end])
        if fault in ("cut off", "stalled"):
            self.close_connection = True
        if fault == "stalled":
            self.wfile.flush()
            self.server.stand_in.stalling.set()
            self.server.over.wait()

    def _head(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def serving() -> Iterator[StandInReleases]:
    """The server while the block runs, without files."""
    (port,) = ports.free_ports(1)
    stand_in = StandInReleases(f"http://127.0.0.1:{port}")
    with _Server(port, stand_in) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield stand_in
        finally:
            server.over.set()
            server.shutdown()


def pin(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, url: str, content: bytes, *programs: str, digest: str = ""
) -> None:
    """Adds a release to a file of pins that stands for the project's in this test."""
    path = folder / "releases.toml"
    entry = f"""[{name}]
module = "example.org/{name}"
version = "v1.0.0"
source = "this test"
programs = {list(programs) or [name]}
{platform.machine()}.url = "{url}"
{platform.machine()}.hash = "{digest or "sha256:" + hashlib.sha256(content).hexdigest()}"
"""
    path.write_text((path.read_text() if path.exists() else "") + entry)
    monkeypatch.setattr(releases, "PINS", path)
    monkeypatch.setattr(download, "_probes", {})
    releases._entries.cache_clear()
