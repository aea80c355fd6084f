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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedded.provider.api import Api
from embedded.provider.gvk import GVK
from embedded.provider.helm_release import ReleaseError, ReleaseResource
from embedded.provider.values import Properties, plain
from tests.provider.helm_support import NEVER_READY, OTHER_URN, URN, settings_of
from tests.support.waiting import eventually

pytest_plugins = ["tests.provider.helm_fixtures"]

KILLED = """
import json, sys, yaml
from embedded.provider.engine import Engine
from embedded.provider.helm_release import ReleaseResource
from embedded.provider.session import Session
from embedded.provider.settings import Settings
work = json.load(sys.stdin)
session = Session(Engine(None))
session.configure(Settings(kubeconfig=yaml.safe_dump(work["kubeconfig"])))
getattr(ReleaseResource(session), work["verb"])(*work["arguments"])
"""


def kill_half_way(kubeconfig: dict[str, Any], api: Api, namespace: str, verb: str, *arguments: Any) -> None:
    """Runs an operation in a process of its own, and kills that with SIGKILL while its helm waits for a pod."""
    work = json.dumps({"kubeconfig": kubeconfig, "verb": verb, "arguments": arguments})
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(KILLED)], stdin=subprocess.PIPE, text=True)
    assert child.stdin is not None
    child.stdin.write(work)
    child.stdin.close()
    helms = eventually(lambda: [pid for pid in children_of(child.pid) if is_waiting_helm(pid)])
    assert all("open sesame" not in command_line(pid) and "token" not in command_line(pid) for pid in helms)
    eventually(lambda: api.list(GVK("", "v1", "Pod"), namespace))  # made after the release was recorded
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in helms))


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


def test_killed_install_is_taken_up_by_the_next_run(
    helm: ReleaseResource,
    inputs: Callable[..., Properties],
    kubeconfig: dict[str, Any],
    chart: Path,
    api: Api,
    namespace: str,
) -> None:
    (chart / "templates" / "never.yaml").write_text(NEVER_READY)
    given = inputs(values={"greeting": "open sesame"}, timeout=120)
    kill_half_way(kubeconfig, api, namespace, "create", URN, given)
    found = helm.read(f"{namespace}/web", given, given)
    assert found is not None
    assert found[2]["status"]["status"] == "pending-install"
    with pytest.raises(ReleaseError, match="not made by this resource"):
        helm.create(OTHER_URN, given)
    (chart / "templates" / "never.yaml").unlink()
    _, outputs = helm.create(URN, inputs(values={"greeting": "open sesame"}))
    assert outputs["status"]["status"] == "deployed"
    assert settings_of(api, namespace)["greeting"] == "open sesame"
    assert [pod["metadata"]["name"] for pod in api.list(GVK("", "v1", "Pod"), namespace)] == []


def test_killed_upgrade_is_taken_up_by_the_next_run(
    helm: ReleaseResource,
    inputs: Callable[..., Properties],
    kubeconfig: dict[str, Any],
    chart: Path,
    api: Api,
    namespace: str,
) -> None:
    identity, outputs = helm.create(URN, inputs())
    (chart / "templates" / "never.yaml").write_text(NEVER_READY)
    given = inputs(values={"size": 8}, timeout=120)
    kill_half_way(kubeconfig, api, namespace, "update", identity, URN, plain(outputs), given)
    (chart / "templates" / "never.yaml").unlink()
    outputs = helm.update(identity, URN, outputs, inputs(values={"size": 9}))
    assert outputs["status"]["status"] == "deployed"
    assert settings_of(api, namespace)["size"] == "9"
    assert [pod["metadata"]["name"] for pod in api.list(GVK("", "v1", "Pod"), namespace)] == []
