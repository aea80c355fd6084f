"""Finds, starts and kills an instance's processes by looking at the kernel, never at a file that may be stale."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PACKAGE
from tensorplane.embedded.cluster import cgroups, network, node_paths
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.nodes import Node
from tensorplane.embedded.instance import Instance

# The variables that the processes inside inherit; none is secret.
_INHERITED_VARIABLES = ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TENSORPLANE_HOME", "LANG")


@dataclass(frozen=True)
class Alive:
    """A running instance, or a further node of it: its first process, as this machine numbers it."""

    pid: int

    def path(self, inside: Path) -> Path:
        """A path of the instance's mount namespace, reachable from here."""
        return Path(f"/proc/{self.pid}/root{inside}")

    def identity(self, paths: NodePaths) -> dict[str, str]:
        """Home and fingerprint of its start, or a further node's name; empty while it still prepares its mounts."""
        try:
            found: dict[str, str] = json.loads(self.path(paths.identity).read_text())
        except (OSError, ValueError):
            return {}
        return found


def find(instance: Instance) -> Alive | None:
    """The first process of the instance's PID namespace, if there is one."""
    return _first(members(instance), 2)


def find_node(node: Node) -> Alive | None:
    """The first process of a node's PID namespace, which the first node shares with the control plane.

    None while it prepares its mounts, too: until then, its /run is that of the first node, with the sockets there.
    """
    if node.is_first:
        return find(node.instance)
    alive = _first(cgroups.processes(node.group), 3)
    return alive if alive and alive.identity(NodePaths(node.instance)).get("node") == node.name else None


def _first(pids: set[int], depth: int) -> Alive | None:
    """Process 1 of a PID namespace with so many around it, itself included; containers are deeper, or elsewhere."""
    firsts = (pid for pid in pids if len(own := numbers(pid)) == depth and own[-1] == 1)
    return next(map(Alive, firsts), None)


def members(instance: Instance) -> set[int]:
    """Every process in the instance's cgroup, and those that have only entered its network namespace."""
    return cgroups.processes(instance) | _in_network(instance)


def launch(instance: Instance, fingerprint: str) -> None:
    """Starts the first process in new namespaces. It outlives this process; `stop` ends it."""
    paths = NodePaths(instance)
    environment = {key: os.environ[key] for key in _INHERITED_VARIABLES if key in os.environ}
    environment |= {"PATH": node_paths.SYSTEM_PATH, "PYTHONPATH": str(PACKAGE.parent)}
    # Mounts and unmounts of the host propagate to the cluster, so that it keeps no disk busy; its own do not.
    unshare = ("unshare", "--mount", "--propagation=slave", "--pid", "--fork", "--kill-child", "--mount-proc")
    first = (sys.executable, "-m", "tensorplane.embedded.cluster.first_process", instance.name, fingerprint)
    with (paths.logs / "first-process.log").open("wb") as log:
        # `setsid --fork` gives it another parent at once, so that this process need not wait for it.
        subprocess.run(
            ("setsid", "--fork", "nsenter", f"--net={network.path(instance)}", *unshare, *first),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=PACKAGE,
            check=True,
        )


def inner(pid: int) -> int:
    """The process's id inside the instance's PID namespace; 0 if it has none."""
    own = numbers(pid)
    return own[-1] if len(own) > 1 else 0


def kill(instance: Instance, timeout: float = 60) -> None:
    """Kills all of them: the first process, and with it its PID namespace, then those outside of that namespace."""
    if alive := find(instance):
        _kill(alive.pid)
        _wait_until_none(instance, timeout)
    for pid in members(instance):
        _kill(pid)
    if left := _wait_until_none(instance, timeout):
        raise UserError(f"cluster {instance.name}: processes {sorted(left)} cannot be killed; reboot this machine")


def _wait_until_none(instance: Instance, timeout: float) -> set[int]:
    end = time.monotonic() + timeout
    while (left := members(instance)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def numbers(pid: int) -> list[int]:
    """The process's id in each of its PID namespaces, ours first; empty if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return []
    line = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    return [int(number) for number in line.split()[1:]]


def _in_network(instance: Instance) -> set[int]:
    try:
        wanted = network.path(instance).stat()
    except OSError:
        return set()
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                status = (folder / "ns/net").stat()
                if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino):
                    found.add(int(folder.name))
    return found
