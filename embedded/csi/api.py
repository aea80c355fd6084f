"""The three calls of Kubernetes' API that the driver makes. A whole client would be most of its memory."""

from __future__ import annotations

import json
import ssl
import urllib.request
from pathlib import Path
from typing import Any

_VOLUMES = "/api/v1/persistentvolumes"
_CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
_TIMEOUT = 10.0

Annotations = dict[str, str | None]


class Api:
    """The API server, for whom the driver's certificate says who asks."""

    def __init__(self, server: str, authority: Path, certificate: Path) -> None:
        self._server = server
        self._trusting = ssl.create_default_context(cafile=str(authority))
        self._trusting.load_cert_chain(certificate)

    def volumes(self) -> list[dict[str, Any]]:
        """Every PersistentVolume."""
        found: list[dict[str, Any]] = self._call("GET", _VOLUMES)["items"]
        return found

    def classes(self) -> list[dict[str, Any]]:
        """Every VolumeAttributesClass."""
        found: list[dict[str, Any]] = self._call("GET", _CLASSES)["items"]
        return found

    def annotate(self, volume: str, said: Annotations) -> None:
        """Changes these annotations and nothing else."""
        self._call("PATCH", f"{_VOLUMES}/{volume}", {"metadata": {"annotations": said}})

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310  # the cluster's own address, always https
            self._server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/merge-patch+json"},
        )
        with urllib.request.urlopen(request, timeout=_TIMEOUT, context=self._trusting) as answer:  # noqa: S310
            return json.load(answer)
