"""The CephFS subvolume with the data of a claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.api import ApiServer
from agents.ceph_mirror.ceph import Refused

_GROUP, _NO_GROUP = 2, "_nogroup"


@dataclass(frozen=True)
class Subvolume:
    """A CephFS subvolume."""

    file_system: str
    name: str
    group: str

    @property
    def words(self) -> tuple[str, ...]:
        """Arguments that name its group."""
        return () if self.group == _NO_GROUP else ("--group_name", self.group)


def subvolume(api: ApiServer, namespace: str, claim: str) -> Subvolume | None:
    """The subvolume of the volume that the claim is bound to; None until a pod mounts it."""
    found = _get(api, f"api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}")
    if found.get("status", {}).get("phase") != "Bound":
        return None
    volume = found["spec"]["volumeName"]
    return _of(volume, _get(api, f"api/v1/persistentvolumes/{volume}"))


def _get(api: ApiServer, path: str) -> Any:
    try:
        return api.send("GET", path)
    except OSError as why:
        raise Refused(f"{path}: {why}") from None


def _of(volume: str, found: Any) -> Subvolume:
    attributes = (found["spec"].get("csi") or {}).get("volumeAttributes") or {}
    try:
        path = attributes["subvolumePath"].split("/")
        return Subvolume(attributes["fsName"], attributes["subvolumeName"], path[_GROUP])
    except (KeyError, IndexError):
        raise Refused(f"persistent volume {volume} names no subvolume: Ceph's driver did not create it") from None
