"""Publishes the age of each volume's newest copy as annotations of its PersistentVolume."""

from __future__ import annotations

import time

from tensorplane.embedded.csi import watching
from tensorplane.embedded.csi.api import Annotations, Api
from tensorplane.embedded.csi.contract import (
    AT_ANNOTATION,
    BYTES_ANNOTATION,
    DRIVER,
    EVERY_ANNOTATION,
    MIRROR_ANNOTATION,
)
from tensorplane.embedded.csi.lag import Lag

_AGAIN_SECONDS = 2.0
_RARELY_SECONDS = 60.0
"""The longest interval between attempts: a retained volume without a PersistentVolume never gets annotations."""


def annotations_of(lag: Lag) -> Annotations:
    """The annotations of one volume; None removes an annotation."""
    seconds, used = lag.volume.mirror_seconds, lag.copy.used if lag.copy else None
    return {
        MIRROR_ANNOTATION: "mirror" if seconds else None,
        EVERY_ANNOTATION: str(seconds) if seconds else None,
        AT_ANNOTATION: lag.copied_at,
        BYTES_ANNOTATION: None if used is None else str(used),
    }


class Published:
    """Keeps the annotations up to date; calls the API server only after a change."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._published: dict[str, Annotations] = {}
        self._tried: dict[str, Annotations] = {}
        self._not_before = 0.0
        self._pause = _AGAIN_SECONDS
        self._complaint = watching.Complaint()

    def say(self, lags: list[Lag]) -> None:
        """Retries later what fails now: the API server may not answer, or a PersistentVolume may not exist yet."""
        wanted = {lag.volume.id: annotations_of(lag) for lag in lags}
        if wanted != self._tried:
            self._not_before = min(self._not_before, time.monotonic() + _AGAIN_SECONDS)
            self._pause = _AGAIN_SECONDS
        if wanted == self._published or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _RARELY_SECONDS)
        self._tried = wanted
        try:
            self._published = self._bring_up_to_date(wanted)
        except (OSError, ValueError) as error:
            self._complaint.say(f"the ages of mirrors cannot be published: {error}")
        else:
            self._complaint.say("")

    def _bring_up_to_date(self, wanted: dict[str, Annotations]) -> dict[str, Annotations]:
        published = {}
        for volume in self._api.volumes():
            csi = volume["spec"].get("csi", {})
            if csi.get("driver") != DRIVER or csi["volumeHandle"] not in wanted:
                continue
            ours = wanted[csi["volumeHandle"]]
            present = volume["metadata"].get("annotations", {})
            if any(present.get(key) != value for key, value in ours.items()):
                self._api.annotate(volume["metadata"]["name"], ours)
            published[csi["volumeHandle"]] = ours
        return published
