"""Says on each PersistentVolume how old its newest copy is, where people and programs see it with Kubernetes alone."""

from __future__ import annotations

import json
import ssl
import time
import urllib.request
from pathlib import Path
from typing import Any

from embedded.csi.contract import DRIVER
from embedded.csi.lag import Lag

MIRROR = "tensorplane.dev/mirror"
"""Where the copies are; there while the volume is mirrored."""
EVERY = "tensorplane.dev/mirror-every-seconds"
"""How old the newest one may get; there while the volume is mirrored."""
AT = "tensorplane.dev/mirrored-at"
"""When the volume was as the newest copy is, which stays when the mirror is turned off."""
BYTES = "tensorplane.dev/mirrored-bytes"
"""How much the volume took then, where somebody counts it."""

_VOLUMES = "/api/v1/persistentvolumes"
_CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
_AGAIN_SECONDS = 2.0
_RARELY_SECONDS = 60.0
"""How seldom it is tried at most: a volume that is kept without its object never gets one."""
_TIMEOUT = 10.0

Annotations = dict[str, str | None]


def said_of(lag: Lag) -> Annotations:
    """What is said of one volume; None takes away what was said before."""
    seconds, used = lag.volume.mirror_seconds, lag.copy.used if lag.copy else None
    return {
        MIRROR: "mirror" if seconds else None,
        EVERY: str(seconds) if seconds else None,
        AT: lag.copied_at,
        BYTES: None if used is None else str(used),
    }


class Api:
    """The three calls of Kubernetes' API that this takes. A whole client would be most of the driver's memory."""

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


class Published:
    """Keeps PersistentVolumes up to date; asks the API server only when there is something new to say."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._said: dict[str, Annotations] = {}
        self._tried: dict[str, Annotations] = {}
        self._not_before = 0.0
        self._pause = _AGAIN_SECONDS
        self._complaint = ""

    def say(self, lags: list[Lag]) -> None:
        """What cannot be said now is said later: the API server may be away, a volume's object be yet to come."""
        wanted = {lag.volume.id: said_of(lag) for lag in lags}
        if wanted != self._tried:
            self._not_before = min(self._not_before, time.monotonic() + _AGAIN_SECONDS)
            self._pause = _AGAIN_SECONDS
        if wanted == self._said or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _RARELY_SECONDS)
        self._tried = wanted
        try:
            self._said = self._bring_up_to_date(wanted)
            complaint = ""
        except (OSError, ValueError) as error:
            complaint = f"mirrors' ages are not published: {error}"
        if complaint and complaint != self._complaint:
            print(complaint, flush=True)
        self._complaint = complaint

    def _bring_up_to_date(self, wanted: dict[str, Annotations]) -> dict[str, Annotations]:
        said = {}
        for volume in self._api.volumes():
            csi = volume["spec"].get("csi", {})
            if csi.get("driver") != DRIVER or csi["volumeHandle"] not in wanted:
                continue
            ours = wanted[csi["volumeHandle"]]
            present = volume["metadata"].get("annotations", {})
            if any(present.get(key) != value for key, value in ours.items()):
                self._api.annotate(volume["metadata"]["name"], ours)
            said[csi["volumeHandle"]] = ours
        return said
