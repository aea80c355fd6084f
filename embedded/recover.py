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
        holder = _holder(lock)
        here = holder.get("hostname") == socket.gethostname()
        if not holder or (here and not _is_pulumi(int(holder.get("pid", 0)))):
            lock.unlink(missing_ok=True)
            continue
        way_out = "Wait for it, or stop it" if here else f"Wait for it, or if that machine is no more, delete {lock}"
        raise Fault(
            f"stack {stack}: process {holder.get('pid')} on {holder.get('hostname')} is updating it since "
            f"{holder.get('timestamp')}. {way_out}, then run the command again."
        )


def _holder(lock: Path) -> dict[str, Any]:
    # A power cut or a full disk leaves a lock without its text; a live pulumi writes it at once.
    try:
        holder: dict[str, Any] = json.loads(lock.read_text())
    except (ValueError, FileNotFoundError):
        return {}
    return holder


def _is_pulumi(pid: int) -> bool:
    # A process id is soon given to somebody else: what counts is whether a pulumi runs under it.
    try:
        return b"pulumi" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def settled(export: dict[str, Any]) -> dict[str, Any] | None:
    """A state whose pending operations are ready to be looked up by a refresh; None where none is pending.

    `export` is what `pulumi stack export` prints. An object whose creation was begun may exist or not. It is entered as
    if it did, under the id that its inputs tell (also where Pulumi chose the name), for the refresh drops what it does
    not find. What was being changed or deleted is in the state already.
    """
    deployment = export["deployment"]
    operations = deployment.get("pending_operations") or []
    if not operations:
        return None
    known = {resource["urn"] for resource in deployment.get("resources", [])}
    begun = [
        {**operation["resource"], "id": _object_id(operation["resource"].get("inputs", {}))}
        for operation in operations
        if operation["type"] == "creating" and operation["resource"]["type"].startswith("kubernetes:")
    ]
    found = [resource for resource in begun if resource["id"] and resource["urn"] not in known]
    # The engine begins a creation when what it depends on exists, so at the end each comes after its dependencies.
    resources = [*deployment.get("resources", []), *found]
    return {**export, "deployment": {**deployment, "resources": resources, "pending_operations": []}}


def _object_id(inputs: dict[str, Any]) -> str:
    # A Kubernetes object is known by its metadata, a Helm release by its own fields.
    metadata = inputs.get("metadata") or inputs
    namespace, name = metadata.get("namespace"), metadata.get("name", "")
    return f"{namespace}/{name}" if namespace else str(name)
