"""Which process updates a stack: Pulumi's locks in a local state folder, and our own, which one `up` holds."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tensorplane.core import file_lock
from tensorplane.core.errors import UserError

# How Pulumi's self-managed backends name the holder of a lock; Pulumi Cloud's message differs.
_LOCKED = re.compile(
    r"the stack is currently locked by .*?created by \S+@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)",
    re.DOTALL,
)


def folder(environment: Mapping[str, str]) -> Path | None:
    """The folder of the state backend that the environment names; None for a backend that is not a folder."""
    url = urlsplit(environment.get("PULUMI_BACKEND_URL", ""))
    return Path(unquote(url.path)) if url.scheme == "file" and not url.netloc else None


def break_stale(backend: Path, stack: str) -> list[str]:
    """Removes the locks of dead processes; a line for each. A lock of a live process or another machine is a UserError.

    `stack` may be `*`.
    """
    broken = []
    for lock in sorted((backend / ".pulumi" / "locks").glob(f"**/{stack}/*.json")):
        name, holder = lock.parent.name, _holder(lock)
        here = holder.get("hostname") == socket.gethostname()
        if not holder or (here and not _is_pulumi(holder["pid"])):
            lock.unlink(missing_ok=True)
            broken.append(
                f"stack {name}: removed the lock of process {holder.get('pid', '(unknown)')}, which no longer runs"
            )
            continue
        raise _held(name, holder, "" if here else f", or if that machine no longer exists, delete {lock}")
    return broken


def refusal(text: str, stack: str) -> UserError | None:
    """The UserError to raise if Pulumi printed that another process holds the stack's lock, else None."""
    found = _LOCKED.search(text)
    if not found:
        return None
    here = found["host"] == socket.gethostname()
    remedy = "" if here else f", or if that machine no longer exists, run: pulumi cancel --stack {stack}"
    return _held(stack, {"pid": found["pid"], "hostname": found["host"], "timestamp": found["since"]}, remedy)


@contextlib.contextmanager
def alone(home: Path, stack: str) -> Iterator[None]:
    """Locks the stack for this process; a UserError if another holds it. The kernel frees the lock of a dead process.

    Pulumi locks single commands, and an update consists of several.
    """
    home.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(home / f".{stack}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+") as file:
        if not file_lock.take(file, wait=False):
            raise _held(stack, _parsed(file.read()), "")
        file.truncate()
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        json.dump({"pid": os.getpid(), "hostname": socket.gethostname(), "timestamp": since}, file)
        file.flush()
        yield


def _held(stack: str, holder: Mapping[str, Any], remedy: str) -> UserError:
    who = f"process {holder.get('pid')} on {holder.get('hostname')}" if holder else "another process"
    since = f" since {holder.get('timestamp')}" if holder else ""
    return UserError(
        f"stack {stack}: {who} is updating it{since}; wait until it ends{remedy or ', or stop it'}, "
        "then run the command again"
    )


def _holder(lock: Path) -> dict[str, Any]:
    # A power failure or a full disk can leave an empty lock; a live pulumi writes its content at once.
    try:
        return _parsed(lock.read_text(errors="replace"))
    except FileNotFoundError:
        return {}


def _parsed(text: str) -> dict[str, Any]:
    """The process that wrote a lock; empty if the text does not name one."""
    try:
        holder = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    names_one = isinstance(holder, dict) and type(holder.get("pid")) is int and isinstance(holder.get("hostname"), str)
    return holder if names_one else {}


def _is_pulumi(pid: int) -> bool:
    # Process ids are reused, so check that the process is a pulumi.
    try:
        return b"pulumi" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
