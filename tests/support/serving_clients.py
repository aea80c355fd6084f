"""Clients of a model server at a steady rate. As real ones do, they retry connections that fail and answers of 503.

An answer may take as long as it does: a slow machine is no failed request.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.waiting import PATIENT_SECONDS

_TRIES = 4
_UNAVAILABLE = 503


@dataclass(frozen=True)
class Answer:
    """The end of one request."""

    at: float
    """When it was sent, in seconds of the monotonic clock."""
    seconds: float
    value: Any
    """The first prediction; None for a request that failed."""
    error: str = ""


@dataclass
class Clients:
    """Threads that ask one URL; use as a context. Their answers are in order only within each thread."""

    url: str
    body: Any
    rate: float = 50.0
    """Requests per second of all threads."""
    threads: int = 8
    send: Callable[..., Any] = urllib.request.urlopen
    """Sends a request; takes `timeout`."""
    answers: list[Answer] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _running: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Clients:
        self._running = [threading.Thread(target=self._ask, args=(number,)) for number in range(self.threads)]
        for thread in self._running:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._running:
            thread.join()

    @property
    def failed(self) -> list[Answer]:
        return [each for each in list(self.answers) if each.error]

    def values_since(self, at: float) -> set[Any]:
        """What was answered to requests that were sent after a moment."""
        return {json.dumps(each.value) for each in list(self.answers) if each.at > at and not each.error}

    def _ask(self, number: int) -> None:
        every = self.threads / self.rate
        due = time.monotonic() + every * number / self.threads
        while not self._over.wait(max(0.0, due - time.monotonic())):
            # A client that is late does not ask twice at once.
            due = max(due + every, time.monotonic() - every)
            self.answers.append(self._one())

    def _one(self) -> Answer:
        began, error = time.monotonic(), ""
        request = urllib.request.Request(f"{self.url}:predict", json.dumps(self.body).encode())
        for attempt in range(_TRIES):
            try:
                with self.send(request, timeout=PATIENT_SECONDS) as answer:
                    value = json.load(answer)["predictions"][0]
                    return Answer(began, time.monotonic() - began, value)
            except urllib.error.HTTPError as refused:
                error = f"HTTP {refused.code}: {refused.read().decode(errors='replace')}"
                if refused.code != _UNAVAILABLE:
                    break
            except OSError as broken:
                error = f"{type(broken).__name__}: {broken}"
            time.sleep(0.1 * 2**attempt)
        return Answer(began, time.monotonic() - began, None, error)
