"""Locks in a state folder, as Pulumi writes them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path


def locked_by(backend: Path, pid: int, host: str = "", *, stack: str = "dev") -> Path:
    lock = backend / ".pulumi" / "locks" / "organization" / "tensorplane" / stack / "1.json"
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps({"pid": pid, "hostname": host or socket.gethostname(), "timestamp": "now"}))
    return lock


def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid
