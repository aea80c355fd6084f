"""A model server for tests: TensorFlow Serving's REST predict for a model that doubles numbers, and its bad days."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelServer:
    """Doubles numbers, and refuses requests with anything else."""

    def __init__(self, seed: int = 1) -> None:
        self.asked = 0
        """Instances that it was asked for."""
        self.largest = 0
        """Instances of the largest request."""
        self.unavailable = 0.0
        """Part of the requests that it answers with 503, or not at all."""
        self._chance, self._lock = random.Random(seed), threading.Lock()
        self.url = ""

    def answer(self, body: Any) -> tuple[int, Any] | None:
        """Status and content; None to hang up."""
        instances = body["instances"]
        with self._lock:
            self.asked += len(instances)
            self.largest = max(self.largest, len(instances))
            luck = self._chance.random()
        if luck < self.unavailable:
            return (503, {"error": "overloaded"}) if luck < self.unavailable / 2 else None
        if wrong := [instance for instance in instances if not isinstance(instance, int)]:
            return 400, {"error": f"{wrong[0]!r} is no number"}
        return 200, {"predictions": [2 * instance for instance in instances]}

    @contextmanager
    def running(self) -> Iterator[ModelServer]:
        """It answers at `url` until the end."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/models/double:predict"
                answer = model.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                if answer is None:
                    self.close_connection = True
                    return
                status, content = answer
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.url = f"http://127.0.0.1:{server.server_address[1]}/v1/models/double:predict"
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield self
            finally:
                server.shutdown()
