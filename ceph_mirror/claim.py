"""Where Ceph's driver has the bytes of a claim, as the API server tells it."""

from __future__ import annotations

import json
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ceph_mirror.ceph import Refused

_SECONDS = 30
_GROUP, _NO_GROUP = 2, "_nogroup"


@dataclass(frozen=True)
class Subvolume:
    """A volume as Ceph has it."""

    file_system: str
    name: str
    group: str

    @property
    def words(self) -> tuple[str, ...]:
        """How commands name it, beside its file system."""
        return () if self.group == _NO_GROUP else ("--group_name", self.group)


@dataclass(frozen=True)
class Api:
    """The API server, as the pod's own service account reaches it."""

    server: str = "https://kubernetes.default.svc"
    account: Path = Path("/var/run/secrets/kubernetes.io/serviceaccount")

    def subvolume(self, namespace: str, claim: str) -> Subvolume | None:
        """What the claim is bound to; None as long as no pod has mounted it."""
        found = self._get(f"api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}")
        if found.get("status", {}).get("phase") != "Bound":
            return None
        volume = found["spec"]["volumeName"]
        return _of(volume, self._get(f"api/v1/persistentvolumes/{volume}"))

    def _get(self, path: str) -> Any:
        token = (self.account / "token").read_text()
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        # The address is ours, and always https.
        request = urllib.request.Request(f"{self.server}/{path}", headers=headers)  # noqa: S310
        trust = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS, context=trust) as answer:  # noqa: S310
                return json.load(answer)
        except OSError as why:
            raise Refused(f"{path}: {why}") from None


def _of(volume: str, found: Any) -> Subvolume:
    told = (found["spec"].get("csi") or {}).get("volumeAttributes") or {}
    try:
        path = told["subvolumePath"].split("/")
        return Subvolume(told["fsName"], told["subvolumeName"], path[_GROUP])
    except (KeyError, IndexError):
        raise Refused(f"persistent volume {volume} is none that Ceph's driver made: it names no subvolume") from None
