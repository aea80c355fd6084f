"""Ceph's command line, as one user of a cluster that Rook runs, and the CephFS subvolume with the data of a claim."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..api import ApiServer

_SECONDS = 120


class MirrorError(Exception):
    """The reason why a run failed, in one line."""


@dataclass(frozen=True)
class Ceph:
    """The command, and how it reaches the cluster."""

    configuration: Path
    keyring: Path
    user: str

    def run(self, *words: str, fine: int = 0) -> str:
        """Runs a command; returns its output. `fine`: an errno, Ceph's exit code, that means it was done before."""
        reach = [f"--conf={self.configuration}", f"--keyring={self.keyring}", f"--name=client.{self.user}"]
        command = ["ceph", *reach, "--connect-timeout=30", "--format=json", *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise MirrorError(f"ceph {' '.join(words)}: no answer in {_SECONDS} s") from None
        if done.returncode not in (0, fine):
            reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise MirrorError(f"ceph {' '.join(words)}: {reason}")
        return done.stdout

    def query(self, *words: str) -> Any:
        """Runs a command; returns its output, parsed."""
        return json.loads(self.run(*words))


def write_configuration(folder: Path, rook: Path, user: str) -> Ceph:
    """Writes the command's configuration from Rook's: monitors, the user's key, and the settings of Rook's owner."""
    # Rook writes them as a=10.0.0.1:6789,b=10.0.0.2:6789.
    monitors = re.sub(r"[a-z0-9_-]+=", "", (rook / "monitors" / "mon-endpoints").read_text().strip())
    more = rook / "settings" / "config"
    configuration, keyring = folder / "ceph.conf", folder / "keyring"
    configuration.write_text(f"[global]\nmon_host = {monitors}\n\n{more.read_text() if more.exists() else ''}\n")
    keyring.touch(mode=0o600)
    keyring.write_text(f"[client.{user}]\nkey = {(rook / 'key' / 'key').read_text().strip()}\n")
    return Ceph(configuration, keyring, user)


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


def find_subvolume(api: ApiServer, namespace: str, claim: str) -> Subvolume | None:
    """The subvolume of the volume that the claim is bound to; None until a pod mounts it."""
    found = _get(api, f"api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}")
    if found.get("status", {}).get("phase") != "Bound":
        return None
    volume = found["spec"]["volumeName"]
    return _read_subvolume(volume, _get(api, f"api/v1/persistentvolumes/{volume}"))


def _get(api: ApiServer, path: str) -> Any:
    try:
        return api.send("GET", path)
    except OSError as why:
        raise MirrorError(f"{path}: {why}") from None


def _read_subvolume(volume: str, found: Any) -> Subvolume:
    attributes = (found["spec"].get("csi") or {}).get("volumeAttributes") or {}
    try:
        path = attributes["subvolumePath"].split("/")
        return Subvolume(attributes["fsName"], attributes["subvolumeName"], path[_GROUP])
    except (KeyError, IndexError):
        raise MirrorError(f"persistent volume {volume} names no subvolume: Ceph's driver did not create it") from None
