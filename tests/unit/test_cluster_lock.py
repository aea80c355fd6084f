"""One process at a time changes an instance, and a killed one blocks nobody."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from embedded.cluster import lock
from embedded.cluster.lock import only_one
from embedded.fault import Fault
from embedded.paths import PROJECT, Instance

_HOLD = """
import sys, time
from embedded.cluster.lock import only_one
from embedded.paths import Instance
with only_one(Instance("bench")):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_one_is_told_who_holds_it_and_gets_it_when_that_is_killed() -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLD], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(Fault, match=f"process {holder.pid} is starting or stopping it"),
            only_one(Instance("bench"), timeout=0.2),
        ):
            pass
        with only_one(Instance("test"), timeout=0.2):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with only_one(Instance("bench"), timeout=1):
        pass


def test_no_other_user_can_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else can open the file; a name of the abstract namespace would be anybody's."""
    folder = tmp_path / "locks"
    monkeypatch.setattr(lock, "_OF_ROOT", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as theirs:
        theirs.bind("\0tensorplane-bench starting or stopping")
        with only_one(Instance("bench"), timeout=0.2):
            [found] = tmp_path.rglob("bench-*")
    for path in (found, found.parent):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        assert path.stat().st_uid == os.geteuid()
