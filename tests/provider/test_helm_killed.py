"""An operation that was ended by `kill -9` leaves no helm, no file with secrets, and is taken up by the next run.

pulumi-kubernetes does not do the last; there a person runs `helm rollback` or `helm uninstall`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tensorplane.plugins.kubernetes.helm_release import ReleaseError
from tensorplane.plugins.kubernetes.values import plain
from tests.provider.helm_support import OTHER_URN, URN, Release
from tests.support.processes import is_alive
from tests.support.waiting import eventually

pytest_plugins = ["tests.provider.helm_fixtures"]
pytestmark = pytest.mark.nightly("killed")

KILLED = """
import json, sys, yaml
from tensorplane.plugins.kubernetes.engine import Engine
from tensorplane.plugins.kubernetes.helm_release import ReleaseResource
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.settings import Settings
work = json.load(sys.stdin)
session = Session(Engine(None))
session.configure(Settings(kubeconfig=yaml.safe_dump(work["kubeconfig"])))
getattr(ReleaseResource(session), work["verb"])(*work["arguments"])
"""


def kill_half_way(release: Release, kubeconfig: dict[str, Any], verb: str, *arguments: Any) -> None:
    """Runs an operation in a process of its own, and kills that with SIGKILL while its helm waits for a pod."""
    work = json.dumps({"kubeconfig": kubeconfig, "verb": verb, "arguments": arguments})
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(KILLED)], stdin=subprocess.PIPE, text=True)
    assert child.stdin is not None
    child.stdin.write(work)
    child.stdin.close()
    helms = eventually(lambda: [pid for pid in children_of(child.pid) if is_waiting_helm(pid)])
    assert all("open sesame" not in command_line(pid) and "token" not in command_line(pid) for pid in helms)
    eventually(release.pods)  # made after the release was recorded
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    eventually(lambda: not any(is_alive(pid) for pid in helms))


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in text_of(task).split()]


def command_line(pid: int) -> str:
    return text_of(Path(f"/proc/{pid}/cmdline")).replace("\0", " ")


def text_of(file: Path) -> str:
    """What a file of a process says; nothing once the process or its thread has ended."""
    with contextlib.suppress(OSError):
        return file.read_text()
    return ""


def is_waiting_helm(pid: int) -> bool:
    return any(verb in command_line(pid) for verb in (" install ", " upgrade "))


def test_killed_install_is_taken_up_by_the_next_run(release: Release, kubeconfig: dict[str, Any]) -> None:
    never = release.never_ready()
    given = release.inputs(values={"greeting": "open sesame"}, timeout=3600)
    kill_half_way(release, kubeconfig, "create", URN, given)
    assert release.read(given)["status"]["status"] == "pending-install"
    with pytest.raises(ReleaseError, match="not made by this resource"):
        release.helm.create(OTHER_URN, given)
    never.unlink()
    _, outputs = release.create(values={"greeting": "open sesame"})
    assert outputs["status"]["status"] == "deployed"
    assert release.settings()["greeting"] == "open sesame"
    assert release.pods() == []


def test_killed_upgrade_is_taken_up_by_the_next_run(release: Release, kubeconfig: dict[str, Any]) -> None:
    resource_id, outputs = release.create()
    never = release.never_ready()
    given = release.inputs(values={"size": 8}, timeout=3600)
    kill_half_way(release, kubeconfig, "update", resource_id, URN, plain(outputs), given)
    never.unlink()
    outputs = release.update(outputs, values={"size": 9})
    assert outputs["status"]["status"] == "deployed"
    assert release.settings()["size"] == "9"
    assert release.pods() == []
