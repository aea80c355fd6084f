"""Requests to a model server at a steady rate, over connections that stay open, and how long each took."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_ANSWER_SECONDS = 30.0
_ZEROS: Mapping[str, Any] = {"DT_STRING": "", "DT_BOOL": False, "DT_FLOAT": 0.0, "DT_DOUBLE": 0.0, "DT_HALF": 0.0}
"""A value of each type; 0 for whole numbers."""


@dataclass(frozen=True)
class Plan:
    """What is asked, and how often."""

    model: str
    body: Mapping[str, Any]
    rate: float
    """Requests per second."""
    seconds: float
    connections: int
    """Requests at once; one that would be more waits, and its waiting counts."""


@dataclass(frozen=True)
class Answer:
    """One request."""

    at: float
    """Seconds after the start when it was due."""
    millis: float
    """From then to its answer."""
    error: str = ""


class Run:
    """A load test while it runs. `answers` grows; `stop` ends it early."""

    def __init__(self, plan: Plan, host: str, port: int) -> None:
        self._plan, self._host, self._port = plan, host, port
        self._next, self._lock, self._stopped = 0, threading.Lock(), threading.Event()
        self._body = json.dumps(plan.body).encode()
        self.answers: list[Answer] = []

    @contextmanager
    def started(self) -> Iterator[list[threading.Thread]]:
        """Its threads, which end by themselves when all requests are answered."""
        began = time.perf_counter()
        threads = [threading.Thread(target=self._send_requests, args=(began,)) for _ in range(self._plan.connections)]
        for thread in threads:
            thread.start()
        try:
            yield threads
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def _due(self) -> float | None:
        """Seconds after the start of the next request; None after the last."""
        with self._lock:
            at = self._next / self._plan.rate
            self._next += 1
        return at if at < self._plan.seconds and not self._stopped.is_set() else None

    def _send_requests(self, began: float) -> None:
        connection: http.client.HTTPConnection | None = None
        while (at := self._due()) is not None:
            if self._stopped.wait(max(0.0, began + at - time.perf_counter())):
                break
            connection = connection or http.client.HTTPConnection(self._host, self._port, timeout=_ANSWER_SECONDS)
            error = self._send(connection)
            if error:
                connection.close()
                connection = None
            self.answers.append(Answer(at, (time.perf_counter() - began - at) * 1000, error))
        if connection:
            connection.close()

    def _send(self, connection: http.client.HTTPConnection) -> str:
        """The error of one request; empty if it is answered."""
        try:
            connection.request("POST", f"/v1/models/{quote(self._plan.model)}:predict", self._body)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as broken:
            return type(broken).__name__
        return "" if answer.status == http.client.OK else f"HTTP {answer.status}: {_reason(text)}"


def _reason(text: bytes) -> str:
    try:
        return " ".join(str(json.loads(text)["error"]).split())
    except (ValueError, KeyError, TypeError):
        return " ".join(text.decode(errors="replace").split())


@dataclass(frozen=True)
class Summary:
    """What a load test measured."""

    requests: int
    errors: Mapping[str, int]
    """How many, by their reason, the most frequent first."""
    rate: float
    """Answers per second, without errors."""
    p50: float | None
    """Milliseconds; None without an answer."""
    p90: float | None
    p99: float | None
    longest: float | None


def summary(answers: Sequence[Answer]) -> Summary:
    """Of these requests."""
    latencies = sorted(each.millis for each in answers if not each.error)
    ended = max((each.at + each.millis / 1000 for each in answers), default=0.0)
    errors = Counter(each.error for each in answers if each.error)
    quantiles = [quantile(latencies, part) for part in (0.5, 0.9, 0.99, 1.0)]
    return Summary(len(answers), dict(errors.most_common()), len(latencies) / ended if ended else 0.0, *quantiles)


def quantile(ordered: Sequence[float], part: float) -> float | None:
    """The smallest value that this part of all does not exceed."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None


def zeros(inputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A request of one example of zeros, for these inputs of a signature."""
    return {"inputs": {name: _zero(one["dtype"], one["shape"] or []) for name, one in inputs.items()}}


def _zero(dtype: str, shape: Sequence[int]) -> Any:
    if not shape:
        return _ZEROS.get(dtype, 0)
    return [_zero(dtype, shape[1:]) for _ in range(max(1, shape[0]))]
