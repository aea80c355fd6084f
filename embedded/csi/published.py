"""Says on each PersistentVolume how old its newest copy is, where people and programs see it with Kubernetes alone."""

from __future__ import annotations

import time

from embedded.csi import watching
from embedded.csi.api import Annotations, Api
from embedded.csi.contract import DRIVER
from embedded.csi.lag import Lag
from embedded.csi.mirror_annotations import AT, BYTES, EVERY, MIRROR

_AGAIN_SECONDS = 2.0
_RARELY_SECONDS = 60.0
"""How seldom it is tried at most: a volume that is kept without its object never gets one."""


def said_of(lag: Lag) -> Annotations:
    """What is said of one volume; None takes away what was said before."""
    seconds, used = lag.volume.mirror_seconds, lag.copy.used if lag.copy else None
    return {
        MIRROR: "mirror" if seconds else None,
        EVERY: str(seconds) if seconds else None,
        AT: lag.copied_at,
        BYTES: None if used is None else str(used),
    }


class Published:
    """Keeps PersistentVolumes up to date; asks the API server only when there is something new to say."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._said: dict[str, Annotations] = {}
        self._tried: dict[str, Annotations] = {}
        self._not_before = 0.0
        self._pause = _AGAIN_SECONDS
        self._complaint = watching.Complaint()

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
        except (OSError, ValueError) as error:
            self._complaint.say(f"the ages of mirrors cannot be published: {error}")
        else:
            self._complaint.say("")

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
