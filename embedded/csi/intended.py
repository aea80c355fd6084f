"""Restores mirroring from Kubernetes' objects: a volume that was bound to its claim again is mirrored again.

The resizer calls the driver when a claim's class changes. A volume whose claim was deleted and created again with
another volume is no longer mirrored, but keeps its class; when it is bound again, nothing calls the driver.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from tensorplane.embedded.csi import refusal, watching
from tensorplane.embedded.csi.api import Api
from tensorplane.embedded.csi.contract import DRIVER, MIRROR
from tensorplane.embedded.csi.store import Store, VolumeRecord

_LOOK_SECONDS = 20.0

Object = Mapping[str, Any]


def intended(volumes: Iterable[Object], classes: Iterable[Object]) -> dict[str, VolumeRecord]:
    """The mirroring of each bound volume whose VolumeAttributesClass sets it, by the driver's volume id."""
    seconds = {
        one["metadata"]["name"]: int(one["parameters"][MIRROR])
        for one in classes
        if one["driverName"] == DRIVER and one.get("parameters", {}).get(MIRROR, "").isdecimal()
    }
    found = {}
    for volume in volumes:
        spec, claim = volume["spec"], volume["spec"].get("claimRef")
        csi, every = spec.get("csi", {}), seconds.get(spec.get("volumeAttributesClassName", ""))
        bound = volume.get("status", {}).get("phase") == "Bound"
        if bound and claim and csi.get("driver") == DRIVER and every is not None:
            found[csi["volumeHandle"]] = VolumeRecord(every, f"{claim['namespace']}/{claim['name']}")
    return found


class Intended:
    """Keeps the pool's records in line with the cluster's objects."""

    def __init__(self, store: Store, api: Api) -> None:
        self._store, self._api = store, api
        self._different: dict[str, VolumeRecord] = {}
        self._complaint = watching.Complaint()

    def look(self) -> None:
        """Corrects differences that persist since the last check: the resizer may be applying newer ones."""
        different = self._differing(intended(self._api.volumes(), self._api.classes()))
        for id_, record in different.items():
            if self._different.get(id_) != record:
                continue
            try:
                self._store.modify_volume(id_, record)
            except refusal.Refusal:  # being deleted or changed
                continue
            change = (
                f"copied every {record.mirror_seconds} seconds again" if record.mirror_seconds else "no longer copied"
            )
            print(f"volume {id_} of claim {record.claim}: {change}, as its class says", flush=True)
        self._different = different

    def _differing(self, wanted: Mapping[str, VolumeRecord]) -> dict[str, VolumeRecord]:
        differing = {}
        for volume in self._store.all_volumes():
            record = wanted.get(volume.id)
            # The claim of a volume without a mirror does not matter.
            if record and (
                volume.mirror_seconds != record.mirror_seconds
                or (record.mirror_seconds and volume.claim != record.claim)
            ):
                differing[volume.id] = record
        return differing

    def watch(self, ended: threading.Event) -> None:
        """Repeats the check. While the API server does not answer, it waits."""
        watching.watch(self._try_to_look, _LOOK_SECONDS, ended)

    def _try_to_look(self) -> None:
        try:
            self.look()
        except (OSError, ValueError) as error:
            self._complaint.say(f"mirrors cannot be compared with their VolumeAttributesClasses: {error}")
        else:
            self._complaint.say("")
