"""Copies a read-only folder from one pool to another: what changed between two btrfs pools, everything elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tensorplane.embedded.csi.storage import Btrfs
from tensorplane.embedded.csi.store import Store

_Command = list[str | Path]


def transfer(source: Store, target: Store, folder: Path, into: Path, since: Path | None = None) -> Path:
    """The copy, with the same name, in `into`. `since`: a folder of the source that was transferred before."""
    arrived = into / folder.name
    # A program that outlives a killed driver makes the next driver wait for both locks.
    locks = [source.lock, target.lock]
    if all(isinstance(one.storage, Btrfs) for one in (source, target)):
        _send(folder, into, since, locks)
    else:
        cp: _Command = ["cp", "--archive", "--reflink=auto", "--sparse=auto", "--no-target-directory", "--"]
        subprocess.run([*cp, folder, arrived], check=True, capture_output=True, pass_fds=locks)
        subprocess.run(["sync", "--file-system", "--", arrived], check=True, pass_fds=locks)
    return arrived


def _send(folder: Path, into: Path, since: Path | None, locks: list[int]) -> None:
    parent: _Command = ["-p", since] if since else []
    send: _Command = ["btrfs", "send", "--quiet", *parent, "--", folder]
    receive: _Command = ["btrfs", "receive", "--quiet", "--", into]
    with subprocess.Popen(send, stdout=subprocess.PIPE, pass_fds=locks) as sending:
        subprocess.run(receive, stdin=sending.stdout, check=True, capture_output=True, pass_fds=locks)
    if sending.returncode:
        raise subprocess.CalledProcessError(sending.returncode, "btrfs send")
