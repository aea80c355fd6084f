"""What a Prometheus reads of the mirrors, as text over HTTP: when each copy was made, and how old it may get."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from embedded.csi.lag import Lag

_NANOSECONDS = 1_000_000_000
_SERIES: tuple[tuple[str, str, Callable[[Lag], float | None]], ...] = (
    (
        "tensorplane_mirror_copy_timestamp_seconds",
        "When the volume was as its newest copy is; 0 where there is none yet.",
        lambda lag: lag.copy.created / _NANOSECONDS if lag.copy else 0,
    ),
    (
        "tensorplane_mirror_interval_seconds",
        "How old the newest copy may get; 0 where the mirror is off.",
        lambda lag: lag.volume.mirror_seconds,
    ),
    (
        "tensorplane_mirror_copy_bytes",
        "Bytes that the volume took then.",
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


def serve(address: tuple[str, int], read: Callable[[], Iterable[Lag]]) -> ThreadingHTTPServer:
    """Answers at /metrics until it is shut down."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the base class' name
            if self.path != "/metrics":
                self.send_error(404)
                return
            content = text(read()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # the base class' name
            """Says nothing of each scrape."""

    server = ThreadingHTTPServer(address, Handler)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
