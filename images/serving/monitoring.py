"""Metrics with the names and labels of TF Serving, in Prometheus' text format."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import prometheus_client
from google.protobuf import text_format
from prometheus_client import CollectorRegistry, Gauge, Histogram

from .error import ServingError, invalid_argument
from .schemas import MonitoringConfig

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
_MICROSECONDS = [10 * 1.8**exponent for exponent in range(33)]
"""util.cc and http_server.cc of TF Serving: the bounds of all latencies."""
CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST


def path_of(file: Path) -> str:
    """The path of the metrics that a monitoring config file names; empty if it enables none."""
    message = MonitoringConfig()
    try:
        text_format.Parse(file.read_text(), message)
    except (OSError, text_format.ParseError) as error:
        raise invalid_argument(f"{file}: {error}") from error
    if not message.prometheus_config.enable:
        return ""
    return message.prometheus_config.path or "/monitoring/prometheus/metrics"


class Metrics:
    """What the server counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        # A Counter of the library would append _total to the name, which TF Serving does not.
        self._requests = Gauge(
            ":tensorflow:serving:request_count", "Requests.", ["model_name", "status"], registry=self._registry
        )
        self._latency = Histogram(
            ":tensorflow:serving:request_latency",
            "Microseconds of a request.",
            ["model_name", "API", "entrypoint"],
            buckets=_MICROSECONDS,
            registry=self._registry,
        )
        self._warmup = Histogram(
            ":tensorflow:serving:model_warmup_latency",
            "Microseconds of a version's warm-up.",
            ["model_path", "status"],
            buckets=_MICROSECONDS,
            registry=self._registry,
        )
        self._loads = Gauge(
            ":tensorflow:cc:saved_model:load_attempt_count",
            "Attempts to load a version.",
            ["model_path", "status"],
            registry=self._registry,
        )

    def text(self) -> bytes:
        """All of them."""
        text: bytes = prometheus_client.generate_latest(self._registry)
        return text

    @contextmanager
    def request(self, model: str, api: str, entrypoint: str) -> Iterator[None]:
        """A request for a model: how it ends, and how long it takes if it succeeds."""
        began = time.perf_counter()
        try:
            yield
        except ServingError as error:
            self._requests.labels(model, error.code.name).inc()
            raise
        except Exception:
            self._requests.labels(model, "INTERNAL").inc()
            raise
        self._requests.labels(model, "OK").inc()
        self._latency.labels(model, api, entrypoint).observe((time.perf_counter() - began) * 1e6)

    def loaded(self, folder: Path, *, ok: bool) -> None:
        """An attempt to load a version."""
        self._loads.labels(str(folder), "success" if ok else "fail").inc()

    def warmed(self, folder: Path, seconds: float) -> None:
        """A version's warm-up."""
        self._warmup.labels(str(folder), "OK").observe(seconds * 1e6)
