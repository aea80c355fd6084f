"""Objects of any Kubernetes kind as plain dicts: discovery, read, write by server-side apply, delete, watch."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import urllib3

from tensorplane.core.errors import NO_MATCH, ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import APPLY, JSON, MERGE_PATCH, Kube, Object
from tensorplane.core.kube_watch import Watch

_TIMEOUT = (10, 60)  # seconds to connect, seconds to answer


class Resource(NamedTuple):
    """A kind's name in URLs, and whether it is namespaced."""

    plural: str
    namespaced: bool


class Objects:
    """Objects of one API server, by kind. Every method raises `ApiError`, also if the object does not exist."""

    def __init__(self, kube: Kube) -> None:
        self.kube = kube
        self._discovered: dict[str, dict[str, Resource]] = {}
        self._lock = threading.Lock()

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
            stream=lambda version: self._stream(path, {**query, "watch": "true", "resourceVersion": version}),
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
        query = {**_write(manager, dry_run, validation), "force": str(force).lower()}
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
        content_type: str = MERGE_PATCH,
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

    def _json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
    ) -> Object:
        return self.kube.json(method, path, query, body, content_type=content_type, timeout=_TIMEOUT)

    def _stream(self, path: str, query: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        # `Watch` shuts the socket down when its caller stops.
        return self.kube.request("GET", path, query, timeout=_TIMEOUT, stream=True)


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _selectors(labels: str, fields: str) -> dict[str, str]:
    return {name: value for name, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


def _write(manager: str, dry_run: bool, validation: str) -> dict[str, str]:
    query = {"fieldManager": manager, "fieldValidation": validation}
    return query | {"dryRun": "All"} if dry_run else query
