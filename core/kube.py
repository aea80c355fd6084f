"""Reads a cluster through plain paths of its API, for the driver and its tests. Changes are the stack's job."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes import client
from kubernetes.config import ConfigException
from kubernetes.stream import ws_client
from websocket import WebSocket, WebSocketBadStatusException, WebSocketException

from core import kubernetes_client
from core.errors import UserError

START = "Start it with: make up"
"""The remedy if the embedded cluster does not answer."""
_OBJECT = re.compile(r"^(<[^>]*>|[\w.]+\([^()]*\)): ")
_JSON = "application/json, */*"
_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_LOOK = "Look with: kubectl cluster-info"
_PODS = "Look with: kubectl get pods --all-namespaces"
_WEBHOOK_SECONDS, _RETRY_SECONDS = 60, 1
"""How long a write waits for a controller that restarts, and how often it asks."""

NO_KUBECONFIG = (ConfigException, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError)
"""What Kubernetes' client raises for a file that is no kubeconfig, or lacks a context."""


def unreadable(error: Exception) -> str:
    """What is wrong with a kubeconfig, on one line, and what to do."""
    said = " ".join(str(error).split()) if isinstance(error, ConfigException) else "it is not a kubeconfig"
    return f"{said.rstrip('.')}; compare it with: kubectl config get-contexts"


def _named(kubeconfig: Path | None, context: str | None) -> str:
    file = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    return f"kubeconfig {file}, {f'context {context}' if context else 'its current context'}"


class Kube:
    """A cluster's API: `get("/api/v1/nodes")`. Paths are those of the Kubernetes API reference."""

    def __init__(self, api: client.ApiClient, remedy: str) -> None:
        self._api = api
        self._remedy = remedy

    @classmethod
    def of(cls, kubeconfig: Path | None, context: str | None = None, *, remedy: str = _LOOK) -> Kube:
        """The cluster of a kubeconfig (None: the user's default) and a context (None: its current one).

        `remedy`: what to do if it does not answer.
        """
        try:
            api = kubernetes_client.of_file(str(kubeconfig) if kubeconfig else None, context or None)
        except NO_KUBECONFIG as error:
            raise UserError(f"{_named(kubeconfig, context)}: {unreadable(error)}") from None
        return cls(api, remedy)

    @classmethod
    def of_text(cls, kubeconfig: str, *, remedy: str) -> Kube:
        """The cluster of a kubeconfig's content."""
        try:
            api = kubernetes_client.of_content(yaml.safe_load(kubeconfig))
        except NO_KUBECONFIG as error:
            raise UserError(f"the stack's kubeconfig: {unreadable(error)}") from None
        return cls(api, remedy)

    def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """One object or list; None if it does not exist."""
        return self._read(path, query, _JSON)

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The items of a list; empty if the kind does not exist."""
        return _items(self.get(path, **query))

    def metadata(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The items of a list with their metadata alone, which costs the server a tenth; empty if the kind does not
        exist."""
        return _items(self._read(path, query, _METADATA))

    def _read(self, path: str, query: dict[str, str], accept: str) -> dict[str, Any] | None:
        """What is at a path, in a form; None if it does not exist."""
        try:
            answer: dict[str, Any] = json.loads(self._call("GET", path, query, accept=accept).data)
        except client.ApiException as error:
            if error.status == 404:
                return None
            raise UserError(f"GET {path}: {_message(error)}") from None
        return answer

    def text(self, path: str, **query: str) -> str:
        """The text at a path (logs); empty if it cannot be read now."""
        try:
            return self._call("GET", path, query).data.decode(errors="replace")
        except client.ApiException:
            return ""

    def lines(self, path: str, **query: str) -> Iterator[str]:
        """The lines of a log as they come, until the server ends it; what was read stays if it cannot be read on."""
        with contextlib.suppress(client.ApiException, urllib3.exceptions.HTTPError, UserError):
            answer = self._call("GET", path, query, seconds=None)
            rest = b""
            for part in answer.stream(decode_content=True):
                *whole, rest = (rest + part).split(b"\n")
                yield from (line.decode(errors="replace") for line in whole)
            if rest:
                yield rest.decode(errors="replace")

    def service(
        self, namespace: str, name: str, port: int, path: str, body: Any = None, *, seconds: float = 30
    ) -> tuple[int, Any]:
        """Status and JSON answer of an HTTP service in the cluster, asked through the API server's proxy.

        An error's answer is text. `seconds`: how long the service may be silent.
        """
        at = f"/api/v1/namespaces/{namespace}/services/http:{name}:{port}/proxy{path}"
        try:
            answer = self._call("GET" if body is None else "POST", at, {}, body, seconds=seconds)
        except client.ApiException as error:
            return int(error.status or 0), error.body
        return answer.status, json.loads(answer.data)

    def apply(self, path: str, thing: dict[str, Any], manager: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Server-side apply of one object at its path; the object as it is then. A UserError with the server's reason.

        It waits a minute for a webhook of a controller that restarts.
        """
        query = {"fieldManager": manager, "force": "true", **({"dryRun": "All"} if dry_run else {})}
        # JSON is YAML.
        request = partial(self._call, "PATCH", path, query, thing, content="application/apply-patch+yaml")
        try:
            answer = _once_admitted(request)
        except client.ApiException as error:
            remedy = f"; it did not answer for {_WEBHOOK_SECONDS} s. {_PODS}" if _is_unasked(error) else ""
            raise UserError(f"{thing['kind']} {thing['metadata']['name']}: {_message(error)}{remedy}") from None
        applied: dict[str, Any] = json.loads(answer.data)
        return applied

    def websocket(self, path: str, **query: str | list[str]) -> WebSocket:
        """A WebSocket to a subresource of a pod: exec, portforward. A UserError with the server's reason."""
        headers: dict[str, str] = {}
        self._api.update_params_for_auth(headers, [], ["BearerToken"])
        address = f"{self._api.configuration.host}{path}"
        try:
            url = ws_client.get_websocket_url(address, list(query.items()))
            opened: WebSocket = ws_client.create_websocket(self._api.configuration, url, headers)
        except WebSocketBadStatusException as error:
            raise UserError(
                f"{path}: {_of_body(error.resp_body) or f'the server answers {error.status_code}'}"
            ) from None
        except (OSError, WebSocketException) as error:
            raise UserError(f"The cluster does not answer ({error}). {self._remedy}") from None
        return opened

    def delete(self, path: str, **query: str) -> None:
        """Delete one object; no error if it does not exist."""
        try:
            self._call("DELETE", path, query)
        except client.ApiException as error:
            if error.status != 404:
                raise UserError(f"DELETE {path}: {_message(error)}") from None

    def _call(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Any = None,
        *,
        seconds: float | None = 30,
        content: str = "application/json",
        accept: str = _JSON,
    ) -> urllib3.HTTPResponse:
        """`seconds`: how long the server may be silent; None: for ever."""
        try:
            answer: urllib3.HTTPResponse = self._api.call_api(
                path,
                method,
                query_params=list(query.items()),
                header_params={"Accept": accept, "Content-Type": content},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=seconds,
            )
        except urllib3.exceptions.HTTPError as error:
            where = self._api.configuration.host.partition("://")[2]
            raise UserError(f"The cluster does not answer ({where}: {_cause(error)}). {self._remedy}") from None
        return answer


def _items(answer: dict[str, Any] | None) -> list[dict[str, Any]]:
    # Of metadata alone, the API server writes an empty list as null.
    return (answer or {}).get("items") or []


def _cause(error: urllib3.exceptions.HTTPError) -> str:
    """Without the names of Python's classes and objects."""
    return _OBJECT.sub("", str(getattr(error, "reason", None) or error))


def _once_admitted(request: Callable[[], urllib3.HTTPResponse]) -> urllib3.HTTPResponse:
    """The answer to a write, once the webhooks that must admit it answer: their controller may be restarting."""
    end = time.monotonic() + _WEBHOOK_SECONDS
    while True:
        try:
            return request()
        except client.ApiException as error:
            if not _is_unasked(error) or time.monotonic() > end:
                raise
        time.sleep(_RETRY_SECONDS)


def _is_unasked(error: client.ApiException) -> bool:
    """Whether a webhook could not be asked, so that nothing was written."""
    return error.status == 500 and "failed calling webhook" in _message(error)


def _message(error: client.ApiException) -> str:
    return _of_body(error.body) or f"{error.status} {error.reason}"


def _of_body(body: Any) -> str:
    """The server's message in the body of its answer; empty if there is none."""
    try:
        return str(json.loads(body)["message"])
    except (TypeError, ValueError, KeyError):
        return ""
