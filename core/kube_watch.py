"""List and watch as one stream of events, which ends promptly when it is cancelled."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import urllib3

from tensorplane.core.errors import ApiError

Event = tuple[str, dict[str, Any]]

_TICK = 0.2  # seconds between two looks at the cancellation
_RETRY = 1.0  # seconds before listing again after the connection broke


class Watch:
    """A watched list. A separate thread reads the socket, so that a silent server does not block the caller."""

    def __init__(
        self,
        *,
        fetch: Callable[[], dict[str, Any]],
        stream: Callable[[str], urllib3.BaseHTTPResponse],
        kind: dict[str, str],
        timeout: float | None,
        cancelled: threading.Event,
    ) -> None:
        self._fetch = fetch
        self._stream = stream
        self._kind = kind
        self._end = None if timeout is None else time.monotonic() + timeout
        self._cancelled = cancelled
        self._known: dict[tuple[str, str], dict[str, Any]] = {}

    def events(self) -> Iterator[Event]:
        """Runs until timeout or cancellation; raises an error of the first list, and retries after later ones."""
        first = True
        while not self._over():
            try:
                found = self._fetch()
            except ApiError as error:
                if first or not (error.unreachable or error.status >= 500):
                    raise
                self._cancelled.wait(_RETRY)
                continue
            first = False
            yield from self._present(found["items"])
            yield from self._changes(found["metadata"]["resourceVersion"])

    def _over(self) -> bool:
        return self._cancelled.is_set() or (self._end is not None and time.monotonic() >= self._end)

    def _present(self, items: list[dict[str, Any]]) -> Iterator[Event]:
        gone = dict(self._known)
        for item in items:
            obj = {**self._kind, **item}
            gone.pop(_key(obj), None)
            self._known[_key(obj)] = obj
            yield "ADDED", obj
        for key, obj in gone.items():
            del self._known[key]
            yield "DELETED", obj

    def _changes(self, version: str) -> Iterator[Event]:
        """Events of one connection; returns when it breaks, so that the caller lists again."""
        try:
            response = self._stream(version)
        except ApiError:
            self._cancelled.wait(_RETRY)
            return
        lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=_read, args=(response, lines), daemon=True).start()
        try:
            while not self._over():
                with contextlib.suppress(queue.Empty):
                    line = lines.get(timeout=_TICK)
                    if line is None:
                        return
                    event = json.loads(line)
                    if event["type"] == "ERROR":  # 410 Gone, mostly
                        return
                    if event["type"] != "BOOKMARK":
                        yield self._note(event["type"], event["object"])
        finally:
            # The socket may be closed already.
            with contextlib.suppress(Exception):
                response.shutdown()

    def _note(self, change: str, obj: dict[str, Any]) -> Event:
        if change == "DELETED":
            self._known.pop(_key(obj), None)
        else:
            self._known[_key(obj)] = obj
        return change, obj


def _key(obj: dict[str, Any]) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _read(response: urllib3.BaseHTTPResponse, lines: queue.Queue[bytes | None]) -> None:
    rest = b""
    # However the connection ends, the watch continues with a new list.
    with contextlib.suppress(urllib3.exceptions.HTTPError, OSError, ValueError):
        for chunk in response.stream(65536):
            *complete, rest = (rest + chunk).split(b"\n")
            for line in complete:
                lines.put(line)
    lines.put(None)
    response.release_conn()
