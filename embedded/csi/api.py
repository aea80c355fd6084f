"""The four calls of Kubernetes' API that the driver makes. A complete client would be most of its memory."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

_VOLUMES = "/api/v1/persistentvolumes"
_CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
_MY_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_TIMEOUT = 10.0

Annotations = dict[str, str | None]


class Api:
    """The API server, with the driver's client certificate."""

    def __init__(self, server: str, authority: Path, certificate: Path) -> None:
        self._server = server
        # Without the certificate, for requests with another client's token.
        self._trusting = ssl.create_default_context(cafile=str(authority))
        self._as_driver = ssl.create_default_context(cafile=str(authority))
        self._as_driver.load_cert_chain(certificate)

    def volumes(self) -> list[dict[str, Any]]:
        """Every PersistentVolume."""
        found: list[dict[str, Any]] = self._call("GET", _VOLUMES)["items"]
        return found

    def classes(self) -> list[dict[str, Any]]:
        """Every VolumeAttributesClass."""
        found: list[dict[str, Any]] = self._call("GET", _CLASSES)["items"]
        return found

    def annotate(self, volume: str, annotations: Annotations) -> None:
        """Changes these annotations and nothing else."""
        self._call("PATCH", f"{_VOLUMES}/{volume}", {"metadata": {"annotations": annotations}})

    def may_get(self, path: str, authorization: str) -> bool | None:
        """Whether the holder of a token may get a non-resource URL; None if the token is not valid.

        The request uses the token itself, so that the driver needs no permission for TokenReviews.
        """
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"nonResourceAttributes": {"path": path, "verb": "get"}},
        }
        headers = {"Content-Type": "application/json", "Authorization": authorization}
        try:
            return bool(self._send("POST", _MY_ACCESS, review, headers, self._trusting)["status"]["allowed"])
        except urllib.error.HTTPError as error:
            with error:
                if error.code not in (401, 403):
                    raise
            return None if error.code == 401 else False

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        return self._send(method, path, body, {"Content-Type": "application/merge-patch+json"}, self._as_driver)

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str], trusting: ssl.SSLContext) -> Any:
        data = None if body is None else json.dumps(body).encode()
        # The cluster's own address, always https.
        request = urllib.request.Request(self._server + path, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=_TIMEOUT, context=trusting) as answer:  # noqa: S310
            return json.load(answer)
