"""The mirrors' metrics for Prometheus, as text over HTTPS: the time of each copy, and its maximum age."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tensorplane.embedded.csi.lag import Lag

_NANOSECONDS = 1_000_000_000
_SERIES: tuple[tuple[str, str, Callable[[Lag], float | None]], ...] = (
    (
        "tensorplane_mirror_copy_timestamp_seconds",
        "Point in time of the volume's newest copy; 0 before the first copy.",
        lambda lag: lag.copy.created / _NANOSECONDS if lag.copy else 0,
    ),
    (
        "tensorplane_mirror_interval_seconds",
        "Maximum age of the newest copy; 0 if the mirror is off.",
        lambda lag: lag.volume.mirror_seconds,
    ),
    (
        "tensorplane_mirror_copy_bytes",
        "Used bytes of the volume in its newest copy.",
        lambda lag: lag.copy.used if lag.copy else None,
    ),
)


def text(lags: Iterable[Lag]) -> str:
    """The series, in Prometheus' text format."""
    known = list(lags)
    lines = []
    for name, meaning, value in _SERIES:
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
        lines += [f"{name}{{{_labels(lag)}}} {found}" for lag in known if (found := value(lag)) is not None]
    return "\n".join(lines) + "\n"


def _labels(lag: Lag) -> str:
    namespace, _, claim = lag.volume.claim.partition("/")
    return f'namespace="{namespace}",persistentvolumeclaim="{claim}",volume="{lag.volume.id}"'


Allowed = Callable[[str, str], bool | None]
"""Whether the sender of this `Authorization` header may get this path; None if the token is not valid."""

_PATH = "/metrics"
_SILENCE_SECONDS = 10.0


def serve(
    address: tuple[str, int], certificate: Path, allowed: Allowed, read: Callable[[], Iterable[Lag]]
) -> ThreadingHTTPServer:
    """Serves /metrics to clients whose token may get it, as Kubernetes' own programs do, until it is shut down."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _SILENCE_SECONDS

        def do_GET(self) -> None:  # the base class' name
            status = 404 if self.path != _PATH else _status(self.headers.get("Authorization", ""), allowed)
            if status != 200:
                self.send_error(status)
                return
            content = text(read()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # the base class' name
            """Does not log requests."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Does not log clients without TLS, or broken connections."""

    identity = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    identity.load_cert_chain(certificate)
    server = Server(address, Handler)
    # The TLS handshake is in the connection's own thread, so that a silent client delays no other.
    server.socket = identity.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def _status(authorization: str, allowed: Allowed) -> int:
    if not authorization.startswith("Bearer "):
        return 401
    try:
        answer = allowed(_PATH, authorization)
    except (OSError, ValueError, KeyError):
        return 503  # the API server does not answer
    return 401 if answer is None else 200 if answer else 403
