"""Requests to the API server from a pod, with the token of its service account and the standard library alone."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import ssl
import threading
import time
import urllib.error
import urllib.parse
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, ClassVar

CONFLICT, GONE, NOT_FOUND = 409, 410, 404
"""Codes of the `urllib.error.HTTPError` that a refused request raises."""
_REFUSED = 300
_IDLE_SECONDS = 10.0
"""A connection that is idle for longer may be gone without notice: something in between drops it."""


@contextlib.contextmanager
def tolerate(*codes: int) -> Iterator[None]:
    """Ignores that the API server refuses a request with one of these codes."""
    try:
        yield
    except urllib.error.HTTPError as error:
        if error.code not in codes:
            raise


@dataclass(frozen=True)
class ApiServer:
    """The API server, as one service account reaches it."""

    APPLY: ClassVar[str] = "application/apply-patch+yaml"
    """Type of a body for server-side apply; JSON is YAML."""
    STRATEGIC_MERGE: ClassVar[str] = "application/strategic-merge-patch+json"
    """Type of a body whose lists are merged by their keys."""
    address: str = "https://kubernetes.default.svc"
    account: Path = Path("/var/run/secrets/kubernetes.io/serviceaccount")
    seconds: int = 30
    """For an answer."""
    _idle: threading.local = field(default_factory=threading.local, init=False, repr=False, compare=False)
    """The connection of each thread's last answer, and when that was read."""

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        """The answer to one request. A PATCH is a merge patch by default. Raises OSError for any status but success."""
        with self._answer(method, path, body, content_type, self.seconds) as answer:
            return json.load(answer)

    def find(self, path: str) -> Any:
        """The object at a path; None if it does not exist. Raises OSError for any other status but success."""
        try:
            return self.send("GET", path)
        except urllib.error.HTTPError as error:
            if error.code != NOT_FOUND:
                raise
            return None

    def wait_for_change(self, path: str, version: str, seconds: int) -> None:
        """Waits until a list changes after its resource version, or until the time is up.

        Raises OSError for any status but success.
        """
        with contextlib.closing(self.watch(path, version, seconds)) as found:
            next(found, None)

    def watch(self, path: str, version: str, seconds: int) -> Generator[Any]:
        """The changes of a list since its resource version, and for some seconds those that come.

        Raises OSError for any status but success.
        """
        query = f"watch=true&resourceVersion={version}&timeoutSeconds={seconds}"
        watched = f"{path}{'&' if '?' in path else '?'}{query}"
        with self._answer("GET", watched, None, None, self.seconds + seconds) as answer:
            try:
                yield from map(json.loads, answer)
            except ValueError as error:  # the last line is not whole
                raise OSError(f"{path}: {error!r}") from error

    @contextlib.contextmanager
    def _answer(
        self, method: str, path: str, body: Any, content_type: str | None, seconds: int
    ) -> Iterator[HTTPResponse]:
        # Read each time: the token is renewed while the pod runs.
        headers = {"Authorization": f"Bearer {(self.account / 'token').read_text()}", "Accept": "application/json"}
        if body is not None:
            default = "application/merge-patch+json" if method == "PATCH" else "application/json"
            headers["Content-Type"] = content_type or default
        data = None if body is None else json.dumps(body).encode()
        connection: HTTPSConnection | None = None
        try:
            connection, answer = self._send(method, f"/{path}", data, headers, seconds)
            if answer.status >= _REFUSED:
                body_of_refusal = io.BytesIO(answer.read())
                raise urllib.error.HTTPError(path, answer.status, answer.reason, answer.headers, body_of_refusal)
            yield answer
            # What is left of an answer would be taken for the next one.
            if answer.isclosed() and not answer.will_close:
                self._idle.last, connection = (connection, time.monotonic()), None
        except http.client.HTTPException as error:
            raise OSError(f"{path}: {error!r}") from error
        finally:
            if connection:
                connection.close()

    def _send(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str], seconds: int
    ) -> tuple[HTTPSConnection, HTTPResponse]:
        """The request is sent on the idle connection if it may be repeated on a new one, else on a new one."""
        idle, at = self._idle.__dict__.pop("last", (None, 0.0))
        if idle and method == "GET" and time.monotonic() - at < _IDLE_SECONDS:
            idle.sock.settimeout(seconds)
            try:
                idle.request(method, path, data, headers)
                return idle, idle.getresponse()
            except (ConnectionError, ssl.SSLError):
                pass  # the server has closed it meanwhile
        if idle:
            idle.close()
        address = urllib.parse.urlsplit(self.address)
        trust = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        # The address is ours, and always https.
        made = http.client.HTTPSConnection(f"{address.hostname}", address.port, timeout=seconds, context=trust)
        made.request(method, path, data, headers)
        return made, made.getresponse()
