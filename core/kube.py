"""A cluster's API by its plain paths, as one user. Every failure is an ApiError, one line that people can read."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorplane.core import kubeconfig
from tensorplane.core.api_connection import Connection
from tensorplane.core.errors import UNREACHABLE, ApiError, UserError, status_of

if TYPE_CHECKING:  # imported where a cluster is reached, since they take a large part of a second
    import urllib3
    from urllib3 import BaseHTTPResponse
    from websocket import WebSocket

Object = dict[str, Any]
Timeout = float | tuple[float, float]
"""Seconds in which the server must answer, or those to connect and those to answer."""

JSON, APPLY = "application/json", "application/apply-patch+yaml"  # JSON is YAML
MERGE_PATCH, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"

_ANY_JSON = "application/json, */*"
_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_LOOK_REMEDY = "Look with: kubectl cluster-info"
_PODS = "Look with: kubectl get pods --all-namespaces"
_TIMEOUT = 30.0
_WEBHOOK_SECONDS, _RETRY_SECONDS = 60, 1
"""How long a write waits for a controller that restarts, and how often it asks."""
_OBJECT = re.compile(r"^(<[^>]*>|[\w.]+\([^()]*\)): ")


class Kube:
    """A cluster's API: `get("/api/v1/nodes")`. Paths are those of the Kubernetes API reference.

    Lists are whole, without pages. Only `apply` repeats what the server refuses. Thread-safe.
    """

    def __init__(
        self,
        connection: Connection,
        remedy: str = "",
        *,
        timeout: Timeout = _TIMEOUT,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        """`remedy`: what to do if the cluster does not answer. `on_warning`: receives the server's warnings."""
        self._connection = connection
        self._remedy = remedy
        self._timeout = timeout
        self._on_warning = on_warning

    @classmethod
    def of(
        cls, file: Path | None, context: str | None = None, *, remedy: str = _LOOK_REMEDY, timeout: Timeout = _TIMEOUT
    ) -> Kube:
        """The cluster of a kubeconfig (None: the user's default) and a context (None: its current one)."""
        return cls(Connection(kubeconfig.access_of(file, context)), remedy, timeout=timeout)

    @classmethod
    def of_text(
        cls, text: str, context: str | None = None, *, remedy: str = _LOOK_REMEDY, timeout: Timeout = _TIMEOUT
    ) -> Kube:
        """The cluster of a kubeconfig's content."""
        return cls(Connection(kubeconfig.access_in(text, context)), remedy, timeout=timeout)

    def get(self, path: str, **query: str) -> Object | None:
        """One object or list; None if it does not exist."""
        return self._read(path, query)

    def items(self, path: str, **query: str) -> list[Object]:
        """The items of a list; empty if the kind does not exist."""
        return _items(self._read(path, query))

    def metadata(self, path: str, **query: str) -> list[Object]:
        """The items of a list with their metadata alone, which costs the server a tenth; empty if the kind does not
        exist."""
        return _items(self._read(path, query, _METADATA))

    def _read(self, path: str, query: Mapping[str, str], accept: str = _ANY_JSON) -> Object | None:
        try:
            return self.json("GET", path, query, accept=accept, subject=f"GET {path}")
        except ApiError as error:
            if error.not_found:
                return None
            raise

    def text(self, path: str, **query: str) -> str:
        """The text at a path (logs); empty if it cannot be read now."""
        try:
            return self.request("GET", path, query).data.decode(errors="replace")
        except ApiError as error:
            if error.unreachable:
                raise
            return ""

    def lines(self, path: str, **query: str) -> Iterator[str]:
        """The lines of a log as they come, until the server ends it; what was read stays if it cannot be read on."""
        from urllib3.exceptions import HTTPError

        with contextlib.suppress(HTTPError, UserError):
            answer = self.request("GET", path, query, stream=True)
            rest = b""
            for part in answer.stream(decode_content=True):
                *whole, rest = (rest + part).split(b"\n")
                yield from (line.decode(errors="replace") for line in whole)
            if rest:
                yield rest.decode(errors="replace")

    def request_service(
        self, namespace: str, name: str, port: int, path: str, body: Any = None, *, seconds: float = 30
    ) -> tuple[int, Any]:
        """Status and JSON answer of an HTTP service in the cluster, asked through the API server's proxy.

        An error's answer is text. `seconds`: how long the service may be silent.
        """
        at = f"/api/v1/namespaces/{namespace}/services/http:{name}:{port}/proxy{path}"
        try:
            answer = self.request("GET" if body is None else "POST", at, body=body, timeout=seconds)
        except ApiError as error:
            if error.unreachable:
                raise
            return error.status, error.body
        return answer.status, json.loads(answer.data)

    def create(self, path: str, thing: Object) -> Object:
        """POST of one object to its kind's path; the object as it is then."""
        return self.json("POST", path, body=thing, subject=_subject(thing))

    def apply(self, path: str, thing: Object, manager: str, *, dry_run: bool = False) -> Object:
        """Server-side apply of one object at its path; the object as it is then.

        It waits a minute for a webhook of a controller that restarts.
        """
        query = {"fieldManager": manager, "force": "true", **({"dryRun": "All"} if dry_run else {})}
        end = time.monotonic() + _WEBHOOK_SECONDS
        while True:
            try:
                return self.json("PATCH", path, query, thing, content_type=APPLY, subject=_subject(thing))
            except ApiError as error:
                if not error.lacks_webhook:
                    raise
                if time.monotonic() > end:
                    raise UserError(f"{error}; it did not answer for {_WEBHOOK_SECONDS} s. {_PODS}") from None
            time.sleep(_RETRY_SECONDS)

    def patch(self, path: str, patch: Any, content_type: str = MERGE_PATCH) -> Object:
        """Changes one object; the object as it is then."""
        return self.json("PATCH", path, body=patch, content_type=content_type, subject=f"PATCH {path}")

    def delete(self, path: str, **query: str) -> None:
        """Deletes one object; no error if it does not exist."""
        try:
            self.request("DELETE", path, query, subject=f"DELETE {path}")
        except ApiError as error:
            if not error.not_found:
                raise

    def websocket(self, path: str, **query: str | list[str]) -> WebSocket:
        """A WebSocket to a subresource of a pod: exec, portforward."""
        from websocket import WebSocketBadStatusException, WebSocketException

        try:
            return self._connection.websocket(path, query)
        except WebSocketBadStatusException as error:
            status = status_of(error.resp_body or b"") or {}
            message = str(status.get("message") or f"the server answers {error.status_code}")
            raise ApiError(error.status_code, "", message, line=f"{path}: {message}") from None
        except (OSError, WebSocketException) as error:
            raise self._unreachable(str(error), str(error)) from None

    def json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        *,
        content_type: str = JSON,
        accept: str = _ANY_JSON,
        timeout: Timeout | None = None,
        subject: str = "",
    ) -> Object:
        """The answer to a request, as JSON."""
        found: Object = json.loads(
            self.request(
                method, path, query, body, content_type=content_type, accept=accept, timeout=timeout, subject=subject
            ).data
        )
        return found

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        *,
        content_type: str = JSON,
        accept: str = _ANY_JSON,
        timeout: Timeout | None = None,
        stream: bool = False,
        subject: str = "",
    ) -> BaseHTTPResponse:
        """The answer to a request. An ApiError if the server refuses it or does not answer.

        `stream`: the caller reads the body, and may wait for it for ever. `subject`: begins the error's line.
        """
        from urllib3.exceptions import HTTPError

        try:
            answer = self._connection.request(
                method,
                path,
                query or {},
                body=None if body is None else json.dumps(body).encode(),
                headers={"Accept": accept, "Content-Type": content_type},
                timeout=_limits(timeout or self._timeout, stream=stream),
                stream=stream,
            )
            if not 200 <= answer.status < 300:
                text = answer.data.decode(errors="replace")
                raise ApiError.from_response(answer.status, str(answer.reason), text, subject)
        except (HTTPError, OSError) as error:
            cause = _root_cause(error)
            host = self.host.partition("://")[2]
            raise self._unreachable(cause, f"{host}: {_OBJECT.sub('', cause)}") from None
        if self._on_warning:
            for warning in answer.headers.getlist("Warning"):
                self._on_warning(warning.partition('"')[2].rpartition('"')[0] or warning)
        return answer

    @property
    def host(self) -> str:
        return self._connection.host

    def _unreachable(self, cause: str, short: str) -> ApiError:
        line = f"The cluster does not answer ({short}). {self._remedy}" if self._remedy else ""
        return ApiError(0, UNREACHABLE, f"no answer from {self.host}: {cause}", line=line)


class ReadableLists:
    """Lists of a cluster's API. What the user may not read is left out, and noted."""

    def __init__(self, api: Kube) -> None:
        self._api = api
        self.notes: list[str] = []

    def read(self, path: str, **query: str) -> list[Object] | None:
        """The items of a list; None if they cannot be read."""
        try:
            return self._api.items(path, **query)
        except UserError as error:
            self.notes.extend(error.lines)
            return None


def _limits(limit: Timeout, *, stream: bool) -> urllib3.Timeout:
    """For urllib3. A stream may be silent for as long as it likes."""
    import urllib3

    connect, read = limit if isinstance(limit, tuple) else (limit, limit)
    if stream:
        return urllib3.Timeout(connect=connect, read=None)
    return urllib3.Timeout(connect=connect, read=read) if isinstance(limit, tuple) else urllib3.Timeout(limit)


def _subject(thing: Object) -> str:
    return f"{thing['kind']} {thing['metadata']['name']}"


def _items(answer: Object | None) -> list[Object]:
    # Of metadata alone, the API server writes an empty list as null.
    return (answer or {}).get("items") or []


def _root_cause(error: Exception) -> str:
    from urllib3.exceptions import MaxRetryError

    while isinstance(error, MaxRetryError) and error.reason is not None:
        error = error.reason
    return str(error)
