"""One process at a time changes an instance, and a killed one blocks nobody."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.embedded.cluster import lock
from tensorplane.embedded.cluster.lock import only_one
from tensorplane.embedded.instance import Instance

_HOLD = """
import pathlib, sys
from tensorplane.embedded.cluster import lock
from tensorplane.embedded.instance import Instance
lock._OF_ROOT = pathlib.Path(sys.argv[1])
with lock.only_one(Instance("bench")):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Locks of the test's own: clusters of other tests may be starting on this machine."""
    folder = tmp_path / "locks"
    monkeypatch.setattr(lock, "_OF_ROOT", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return folder


def test_a_second_process_names_the_holder_and_gets_the_lock_after_its_kill(folder: Path) -> None:
    argv = [sys.executable, "-c", _HOLD, str(folder)]
    holder = subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(UserError, match=f"process {holder.pid} is starting or stopping it"),
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


@pytest.mark.usefixtures("folder")
def test_no_other_user_can_hold_it(tmp_path: Path) -> None:
    """Nobody else can open the file; a name of the abstract namespace would be anybody's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as theirs:
        with contextlib.suppress(OSError):  # the same test of another checkout holds it as well
            theirs.bind("\0tensorplane-bench starting or stopping")
        with only_one(Instance("bench"), timeout=0.2):
            [found] = tmp_path.rglob("bench-*")
    for path in (found, found.parent):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        assert path.stat().st_uid == os.geteuid()
