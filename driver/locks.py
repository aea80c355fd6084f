"""Who updates a stack: the locks in a local state folder, and one of our own that two `make up` cannot both hold."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from embedded.fault import Fault

# How Pulumi's own state backends name the holder of a lock; Pulumi Cloud refuses in other words.
_LOCKED = re.compile(
    r"the stack is currently locked by .*?created by \S+@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)",
    re.DOTALL,
)


def folder(environment: Mapping[str, str]) -> Path | None:
    """The folder of the state backend that the environment names; None where it is no folder."""
    url = urlsplit(environment.get("PULUMI_BACKEND_URL", ""))
    return Path(unquote(url.path)) if url.scheme == "file" and not url.netloc else None


def break_stale(backend: Path, stack: str) -> list[str]:
    """Remove the locks whose process is gone, and tell of each. A live process' or another machine's is a fault.

    `stack` may be `*`.
    """
    broken = []
    for lock in sorted((backend / ".pulumi" / "locks").glob(f"**/{stack}/*.json")):
        name, holder = lock.parent.name, _holder(lock)
        here = holder.get("hostname") == socket.gethostname()
        if not holder or (here and not _is_pulumi(holder["pid"])):
            lock.unlink(missing_ok=True)
            broken.append(f"stack {name}: removed the lock of process {holder.get('pid', '(unknown)')}, which is gone")
            continue
        raise _held(name, holder, "" if here else f", or if that machine is no more, delete {lock}")
    return broken


def refusal(text: str, stack: str) -> Fault | None:
    """What to tell where Pulumi printed that another process has the stack's lock; None where it did not."""
    found = _LOCKED.search(text)
    if not found:
        return None
    here = found["host"] == socket.gethostname()
    way_out = "" if here else f", or if that machine is no more, run: pulumi cancel --stack {stack}"
    return _held(stack, {"pid": found["pid"], "hostname": found["host"], "timestamp": found["since"]}, way_out)


@contextlib.contextmanager
def alone(home: Path, stack: str) -> Iterator[None]:
    """Hold the stack for this process. Another one that holds it already is a fault; the kernel frees a dead one's.

    Pulumi locks each of its commands alone, and an update is several.
    """
    home.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(home / f".{stack}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _held(stack, _parsed(file.read()), "") from None
        file.truncate()
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        json.dump({"pid": os.getpid(), "hostname": socket.gethostname(), "timestamp": since}, file)
        file.flush()
        yield


def _held(stack: str, holder: Mapping[str, Any], way_out: str) -> Fault:
    who = f"process {holder.get('pid')} on {holder.get('hostname')}" if holder else "another process"
    since = f" since {holder.get('timestamp')}" if holder else ""
    return Fault(
        f"stack {stack}: {who} is updating it{since}. Wait for it{way_out or ', or stop it'}, "
        "then run the command again."
    )


def _holder(lock: Path) -> dict[str, Any]:
    # A power cut or a full disk leaves a lock without its text; a live pulumi writes it at once.
    try:
        return _parsed(lock.read_text(errors="replace"))
    except FileNotFoundError:
        return {}


def _parsed(text: str) -> dict[str, Any]:
    """Who wrote a lock; empty where that is no process that took it."""
    try:
        holder = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    names_one = isinstance(holder, dict) and type(holder.get("pid")) is int and isinstance(holder.get("hostname"), str)
    return holder if names_one else {}


def _is_pulumi(pid: int) -> bool:
    # A process id is soon given to somebody else: what counts is whether a pulumi runs under it.
    try:
        return b"pulumi" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
