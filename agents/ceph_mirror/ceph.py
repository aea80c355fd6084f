"""Ceph's own command line, as one user of a cluster that Rook runs."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SECONDS = 120


class Refused(Exception):
    """The reason why a run failed, in one line."""


@dataclass(frozen=True)
class Ceph:
    """The command, and how it reaches the cluster."""

    configuration: Path
    keyring: Path
    user: str

    def tell(self, *words: str, fine: int = 0) -> str:
        """Run a command; returns its output. `fine`: an errno, Ceph's exit code, that means it was done before."""
        reach = [f"--conf={self.configuration}", f"--keyring={self.keyring}", f"--name=client.{self.user}"]
        command = ["ceph", *reach, "--connect-timeout=30", "--format=json", *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise Refused(f"ceph {' '.join(words)}: no answer in {_SECONDS} s") from None
        if done.returncode not in (0, fine):
            reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise Refused(f"ceph {' '.join(words)}: {reason}")
        return done.stdout

    def ask(self, *words: str) -> Any:
        """Run a command; returns its output, parsed."""
        return json.loads(self.tell(*words))


def configured(folder: Path, rook: Path, user: str) -> Ceph:
    """Write the command's configuration from Rook's: monitors, the user's key, and the settings of Rook's owner."""
    # Rook writes them as a=10.0.0.1:6789,b=10.0.0.2:6789.
    monitors = re.sub(r"[a-z0-9_-]+=", "", (rook / "monitors" / "mon-endpoints").read_text().strip())
    more = rook / "settings" / "config"
    configuration, keyring = folder / "ceph.conf", folder / "keyring"
    configuration.write_text(f"[global]\nmon_host = {monitors}\n\n{more.read_text() if more.exists() else ''}\n")
    keyring.touch(mode=0o600)
    keyring.write_text(f"[client.{user}]\nkey = {(rook / 'key' / 'key').read_text().strip()}\n")
    return Ceph(configuration, keyring, user)
