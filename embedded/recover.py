"""Mends what a killed `pulumi up` leaves in a local state folder: its lock, and creates of unknown outcome."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from embedded.fault import Fault


def break_stale_locks(backend: Path, stack: str) -> None:
    """Remove the locks whose process is gone. A lock of a live process, or of another machine, is a fault."""
    for lock in sorted((backend / ".pulumi" / "locks").glob(f"**/{stack}/*.json")):
        holder = json.loads(lock.read_text() or "{}")
        if holder.get("hostname") == socket.gethostname() and not _is_pulumi(int(holder.get("pid", 0))):
            lock.unlink(missing_ok=True)
        else:
            raise Fault(
                f"stack {stack}: process {holder.get('pid')} on {holder.get('hostname')} is updating it since "
                f"{holder.get('timestamp')}. Wait for it, or stop it, then run the command again."
            )


def _is_pulumi(pid: int) -> bool:
    # A process id is soon given to somebody else: what counts is whether a pulumi runs under it.
    try:
        return b"pulumi" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def pending_creates(export: dict[str, Any]) -> list[tuple[str, str]] | None:
    """The creates that an update began and did not finish, as (URN, id); None where no operation is pending.

    `export` is what `pulumi stack export` prints. An auto-named object has its name in its inputs, so the id of what
    may or may not exist is known.
    """
    operations = export["deployment"].get("pending_operations") or []
    if not operations:
        return None
    return [
        (operation["resource"]["urn"], _object_id(operation["resource"].get("inputs", {})))
        for operation in operations
        if operation["type"] == "creating" and operation["resource"].get("custom")
    ]


def _object_id(inputs: dict[str, Any]) -> str:
    # A Kubernetes object is known by its metadata, a Helm release by its own fields.
    metadata = inputs.get("metadata") or inputs
    namespace, name = metadata.get("namespace"), metadata.get("name", "")
    return f"{namespace}/{name}" if namespace else str(name)


def refresh_arguments(pending: list[tuple[str, str]]) -> list[str]:
    """Flags with which `pulumi refresh` looks each pending create up and keeps what exists."""
    known = [(urn, object_id) for urn, object_id in pending if object_id]
    flags = [f"--import-pending-creates={part}" for pair in known for part in pair]
    return [*flags, "--clear-pending-creates"]
