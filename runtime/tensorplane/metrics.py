"""Metrics of training for Prometheus: an HTTP endpoint in the process, if TENSORPLANE_METRICS_PORT names its port.

Every worker has its own endpoint, because the wait for input differs between workers. Without the variable the values
are only kept in memory. It only requires the standard library.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tensorplane.log import say

PORT = "TENSORPLANE_METRICS_PORT"
"""Variable with the port of the endpoint; not set, no endpoint."""
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class _Metric:
    """A metric with one value, in the form of Prometheus' text format."""

    kind = "gauge"

    def __init__(self, name: str, meaning: str) -> None:
        self._name, self._meaning = name, meaning
        self._lock = threading.Lock()
        self._value = 0.0

    def lines(self) -> Iterator[str]:
        """Its lines of the text format."""
        yield f"# HELP {self._name} {self._meaning}"
        yield f"# TYPE {self._name} {self.kind}"
        yield from self._samples()

    def _samples(self) -> Iterable[str]:
        return (f"{self._name} {self._value!r}",)


class Gauge(_Metric):
    """A value that goes up and down."""

    def set(self, value: float) -> None:
        """Replaces the value."""
        self._value = float(value)


class Counter(_Metric):
    """A sum that only grows while the process lives."""

    kind = "counter"

    def add(self, value: float) -> None:
        """Adds to the sum."""
        with self._lock:
            self._value += value


class Summary(_Metric):
    """Sum and count of observed values; their ratio over a time is the average in it."""

    kind = "summary"

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, meaning)
        self._count = 0

    def observe(self, total: float, count: int = 1) -> None:
        """Adds `count` values that amount to `total`."""
        with self._lock:
            self._value += total
            self._count += count

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Observes the duration of a block that succeeds, in seconds."""
        began = time.monotonic()
        yield
        self.observe(time.monotonic() - began)

    def _samples(self) -> Iterable[str]:
        with self._lock:
            return (f"{self._name}_sum {self._value!r}", f"{self._name}_count {self._count}")


STEPS = Counter("tensorplane_steps_total", "Steps that this process has completed since it started.")
STEP = Gauge("tensorplane_step", "Last completed step of the run.")
STEP_SECONDS = Summary("tensorplane_step_seconds", "Duration of steps, with their wait for input.")
LOSS = Gauge("tensorplane_loss", "Loss of the last reported step.")
EXAMPLES_PER_SECOND = Gauge("tensorplane_examples_per_second", "Examples of all workers per second.")
CHECKPOINT_SECONDS = Summary("tensorplane_checkpoint_seconds", "Time for which saving a checkpoint halts the training.")
INPUT_WAIT_SECONDS = Counter("tensorplane_input_wait_seconds_total", "Time that steps have waited for their input.")
RESTARTS = Gauge("tensorplane_restarts", "Starts of the run's gang before this one.")
SCORED = Counter("tensorplane_scored_total", "Records that a scorer has given a result since it started.")
REFUSED = Counter("tensorplane_refused_total", "Results of a scorer with an error, among those it has given.")
LAG = Gauge("tensorplane_scorer_lag", "Records without a result in the partitions of this pod of a scorer.")
RECORDED = Counter("tensorplane_recorded_total", "Records that a recorder has committed since it started.")
UNRECORDED = Gauge("tensorplane_recorder_lag", "Records of a recorder's topic that are in no version of its dataset.")
TRAINING = (STEPS, STEP, STEP_SECONDS, LOSS, EXAMPLES_PER_SECOND, CHECKPOINT_SECONDS, INPUT_WAIT_SECONDS, RESTARTS)
SCORING = (SCORED, REFUSED, LAG)
RECORDING = (RECORDED, UNRECORDED)


def text(metrics: Sequence[_Metric] = TRAINING) -> str:
    """Metrics in Prometheus' text format."""
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines())


class _Server(ThreadingHTTPServer):
    metrics: Sequence[_Metric]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:  # the name that http.server calls
        found = self.path.partition("?")[0] == "/metrics"
        body = (text(self.server.metrics) if found else "metrics are at /metrics\n").encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", _TEXT)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are not logged: the log is the training's."""


_servers: dict[int, _Server] = {}


def serve(environment: Mapping[str, str] = os.environ, metrics: Sequence[_Metric] = TRAINING) -> int | None:
    """Starts the endpoint if the environment asks for one, once per process. Returns its port.

    Training does not depend on it: if the port cannot be used, one line says so.
    """
    asked = environment.get(PORT, "")
    if not asked:
        return None
    try:
        port = int(asked)
        if port not in _servers:
            _servers[port] = _Server(("", port), _Handler)
            _servers[port].metrics = metrics
            threading.Thread(target=_servers[port].serve_forever, name="metrics", daemon=True).start()
    except (OSError, OverflowError, ValueError) as error:
        say(metrics=f"{PORT}={asked}: {error}; training continues without the endpoint")
        return None
    return int(_servers[port].server_address[1])
