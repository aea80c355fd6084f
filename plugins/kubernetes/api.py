"""A small client for any Kubernetes kind as plain dicts: discovery, read, write by server-side apply, delete, watch."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import urllib3

from kubernetes.client.api_client import ApiClient
from kubernetes.client.exceptions import ApiException
from plugins.kubernetes.api_error import NO_MATCH, UNREACHABLE, ApiError
from plugins.kubernetes.gvk import GVK
from plugins.kubernetes.watch import Watch

__all__ = ["GVK", "Api", "ApiError", "Object", "Resource"]

Object = dict[str, Any]
Query = list[tuple[str, str]]

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
_TIMEOUT = (10, 60)  # seconds to connect, seconds to answer


class Resource(NamedTuple):
    """A kind's name in URLs, and whether it is namespaced."""

    plural: str
    namespaced: bool


class Api:
    """One API server. Every method raises `ApiError`; objects go in and come out as JSON dicts. Thread-safe."""

    def __init__(self, client: ApiClient, on_warning: Callable[[str], None] | None = None) -> None:
        self._client = client
        self._on_warning = on_warning
        self._discovered: dict[str, dict[str, Resource]] = {}
        self._lock = threading.Lock()

    @property
    def host(self) -> str:
        return str(self._client.configuration.host)

    # -- discovery

    def resource(self, gvk: GVK) -> Resource:
        """Looks a kind up; discovers again if it is unknown (its CRD may be new)."""
        known = self._discovered.get(gvk.api_version, {}).get(gvk.kind)
        if known is None:
            known = self._discover(gvk.api_version).get(gvk.kind)
        if known is None:
            raise ApiError(404, NO_MATCH, f"the server knows no {gvk.kind} in {gvk.api_version}; is its CRD installed?")
        return known

    def forget(self) -> None:
        """Clears the discovery cache; call it after a CRD was changed or deleted."""
        with self._lock:
            self._discovered.clear()

    def version(self) -> tuple[int, int]:
        """The server's version, e.g. (1, 36)."""
        answer = self._json("GET", "/version")
        return int(answer["major"]), int(str(answer["minor"]).rstrip("+"))

    def _discover(self, api_version: str) -> dict[str, Resource]:
        try:
            answer = self._json("GET", _root(api_version))
        except ApiError as error:
            if not error.not_found:
                raise
            answer = {"resources": []}
        kinds = {
            entry["kind"]: Resource(entry["name"], bool(entry["namespaced"]))
            for entry in answer["resources"]
            if "/" not in entry["name"]
        }
        with self._lock:
            self._discovered[api_version] = kinds
        return kinds

    def path(self, gvk: GVK, namespace: str | None = None, name: str | None = None, subresource: str = "") -> str:
        """URL path of an object, or of a kind's list; a namespaced kind without `namespace` means all namespaces."""
        resource = self.resource(gvk)
        path = _root(gvk.api_version)
        if resource.namespaced and namespace:
            path += f"/namespaces/{namespace}"
        path += f"/{resource.plural}"
        if name:
            path += f"/{name}"
        return f"{path}/{subresource}" if subresource else path

    # -- reading

    def get(self, gvk: GVK, name: str, ns: str | None = None) -> Object:
        return self._json("GET", self.path(gvk, self._namespace(gvk, ns), name))

    def list(self, gvk: GVK, ns: str | None = None, *, labels: str = "", fields: str = "") -> list[Object]:
        """Objects of a kind, in one namespace or in all; `labels` and `fields` are selectors as kubectl takes them."""
        answer = self._json("GET", self.path(gvk, ns), query=_selectors(labels, fields))
        return [{"apiVersion": gvk.api_version, "kind": gvk.kind, **item} for item in answer["items"]]

    def watch(
        self,
        gvk: GVK,
        name: str | None = None,
        ns: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        timeout: float | None = None,
        cancelled: threading.Event | None = None,
    ) -> Iterator[tuple[str, Object]]:
        """Yields existing objects as ADDED, then every ADDED, MODIFIED and DELETED.

        Ends (without an error) after `timeout` seconds or soon after `cancelled` is set. Survives dropped connections
        and expired resource versions; after such a gap it yields existing objects as ADDED again, and removed ones as
        DELETED.
        """
        if name:
            fields = f"metadata.name={name}" + (f",{fields}" if fields else "")
        path = self.path(gvk, self._namespace(gvk, ns) if name else ns)
        kind = {"apiVersion": gvk.api_version, "kind": gvk.kind}
        query = _selectors(labels, fields)
        return Watch(
            fetch=lambda: self._json("GET", path, query=query),
            stream=lambda version: self._stream(path, [*query, ("watch", "true"), ("resourceVersion", version)]),
            kind=kind,
            timeout=timeout,
            cancelled=cancelled or threading.Event(),
        ).events()

    # -- writing

    def create(self, obj: Object, *, manager: str, dry_run: bool = False, validation: str = "Strict") -> Object:
        """POST: fails when the object exists; honours `generateName`."""
        gvk = GVK.of(obj)
        path = self.path(gvk, self._namespace(gvk, obj["metadata"].get("namespace")))
        return self._json("POST", path, query=_write(manager, dry_run, validation), body=obj)

    def apply(
        self, obj: Object, *, manager: str, force: bool = False, dry_run: bool = False, validation: str = "Strict"
    ) -> Object:
        """Server-side apply: creates or updates; a field of another manager is a conflict unless `force`."""
        query = [*_write(manager, dry_run, validation), ("force", str(force).lower())]
        return self._json("PATCH", self._object_path(obj), query=query, body=obj, content_type=APPLY)

    def replace(self, obj: Object, *, manager: str, dry_run: bool = False, validation: str = "Strict") -> Object:
        """PUT the whole object."""
        return self._json("PUT", self._object_path(obj), query=_write(manager, dry_run, validation), body=obj)

    def patch(
        self,
        gvk: GVK,
        name: str,
        ns: str | None,
        body: Any,
        *,
        manager: str,
        content_type: str = MERGE,
        dry_run: bool = False,
        validation: str = "Strict",
    ) -> Object:
        """PATCH with a merge patch, or with another kind of patch as `content_type` says."""
        path = self.path(gvk, self._namespace(gvk, ns), name)
        return self._json(
            "PATCH", path, query=_write(manager, dry_run, validation), body=body, content_type=content_type
        )

    def delete(
        self, gvk: GVK, name: str, ns: str | None = None, *, propagation: str = "Background", uid: str = ""
    ) -> None:
        """Asks for deletion and returns at once; with `uid` only that very object is deleted."""
        body: Object = {"propagationPolicy": propagation}
        if uid:
            body["preconditions"] = {"uid": uid}
        self._json("DELETE", self.path(gvk, self._namespace(gvk, ns), name), body=body)

    def _object_path(self, obj: Object) -> str:
        gvk = GVK.of(obj)
        meta = obj["metadata"]
        return self.path(gvk, self._namespace(gvk, meta.get("namespace")), meta["name"])

    def _namespace(self, gvk: GVK, namespace: str | None) -> str | None:
        return (namespace or "default") if self.resource(gvk).namespaced else None

    # -- requests

    def _json(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Object:
        response = self._send(method, path, query or [], body, content_type, _TIMEOUT)
        answer: Object = json.loads(response.data)
        return answer

    def text(self, path: str, query: Query | None = None) -> str:
        """GET of text: a pod's log, a page of metrics."""
        return bytes(self._send("GET", path, query or [], None, "application/json", _TIMEOUT).data).decode(
            errors="replace"
        )

    def _stream(self, path: str, query: Query) -> urllib3.HTTPResponse:
        # No timeout between two events; `Watch` shuts the socket down when its caller stops.
        return self._send("GET", path, query, None, "application/json", (_TIMEOUT[0], None), stream=True)

    def _send(
        self,
        method: str,
        path: str,
        query: Query,
        body: Any,
        content_type: str,
        timeout: tuple[float, float | None],
        *,
        stream: bool = False,
    ) -> urllib3.HTTPResponse:
        headers = {"Accept": "application/json", "Content-Type": content_type}
        try:
            response: urllib3.HTTPResponse = self._client.call_api(
                path,
                method,
                query_params=query,
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=timeout,
            )
            if not stream:
                response.read(cache_content=True)
        except ApiException as error:
            raise self._failure(error) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(0, UNREACHABLE, f"no answer from {self.host}: {_root_cause(error)}") from None
        for warning in response.headers.getlist("Warning"):
            if self._on_warning:
                self._on_warning(warning.partition('"')[2].rpartition('"')[0] or warning)
        return response

    def _failure(self, error: ApiException) -> ApiError:
        if not error.status:
            return ApiError(0, UNREACHABLE, f"no answer from {self.host}: {error.reason}")
        body = error.body.decode(errors="replace") if isinstance(error.body, bytes) else str(error.body or "")
        return ApiError.from_response(error.status, str(error.reason), body)


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _selectors(labels: str, fields: str) -> Query:
    return [pair for pair in (("labelSelector", labels), ("fieldSelector", fields)) if pair[1]]


def _write(manager: str, dry_run: bool, validation: str) -> Query:
    query = [("fieldManager", manager), ("fieldValidation", validation)]
    return [*query, ("dryRun", "All")] if dry_run else query


def _root_cause(error: BaseException) -> str:
    while isinstance(error, urllib3.exceptions.MaxRetryError) and error.reason is not None:
        error = error.reason
    return str(error)
