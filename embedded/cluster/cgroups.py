"""The instance's cgroup subtree. It contains, and so lists, every process of the cluster and of its pods."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.embedded.instance import Instance

# In version 2, only leaf groups can have processes, so the cluster's own are in a leaf next to the pods' groups.
_LEAF = "system"


def hierarchies() -> list[Path]:
    """Mount point of each cgroup hierarchy: many in version 1, one in version 2, both kinds on a hybrid machine."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(mount[1]) for mount in mounts if mount[2] in ("cgroup", "cgroup2")]


def folders(instance: Instance) -> list[Path]:
    """The instance's folder in each hierarchy, where it exists."""
    return [folder for root in hierarchies() if (folder := root / instance.namespace).is_dir()]


def create(instance: Instance) -> None:
    """Creates the subtree in every hierarchy: the kubelet refuses a cgroup root that lacks one."""
    for root in hierarchies():
        top = root / instance.namespace
        try:
            for parent, folder in ((root, top), (top, top / _LEAF)):
                _delegate(parent)
                folder.mkdir(exist_ok=True)
                _inherit_cpuset(parent, folder)
        except OSError as error:
            raise UserError(
                f"{error.filename}: {error.strerror}, but the cluster requires writable cgroups; "
                "start this container with a writable cgroup namespace of its own"
            ) from None


def _delegate(parent: Path) -> None:
    """Version 2: enables the parent's controllers for its sub-groups."""
    switch = parent / "cgroup.subtree_control"
    if switch.exists():
        for controller in (parent / "cgroup.controllers").read_text().split():
            switch.write_text(f"+{controller}")


def _inherit_cpuset(parent: Path, folder: Path) -> None:
    """Version 1: a new cpuset is empty and accepts processes only once it names processors and memory nodes."""
    for setting in ("cpuset.cpus", "cpuset.mems"):
        if (folder / "tasks").exists() and (folder / setting).exists():
            (folder / setting).write_text((parent / setting).read_text())


def join(instance: Instance) -> None:
    """Moves the calling process into the subtree; its children follow."""
    for folder in folders(instance):
        (folder / _LEAF / "cgroup.procs").write_text("0")


def processes(instance: Instance) -> set[int]:
    """Every process in the subtree, pods included."""
    found: set[int] = set()
    for folder in folders(instance):
        for group in _groups(folder):
            try:
                found.update(int(pid) for pid in (group / "cgroup.procs").read_text().split())
            except OSError:  # the group was removed, or is of a type without processes
                continue
    found.discard(0)  # a process of another PID namespace, so not ours
    return found


def processor_seconds(instance: Instance) -> float:
    """The time of processors that its processes have used since it started; 0 for a stopped one."""
    here = folders(instance)
    for file in (folder / "cpuacct.usage" for folder in here):
        if file.exists():  # version 1, also on hybrid machines
            return int(file.read_text()) / 1e9
    for file in (folder / "cpu.stat" for folder in here):
        words = file.read_text().split()
        return int(words[words.index("usage_usec") + 1]) / 1e6
    return 0.0


def remove(instance: Instance, timeout: float = 10) -> None:
    """Removes the empty subtree. The kernel may take a moment to release processes that just died."""
    end = time.monotonic() + timeout
    while left := _remove_once(instance):
        if time.monotonic() > end:
            raise UserError(
                f"{left}: the cgroup cannot be removed, since processes still use it; end those in {left}/cgroup.procs"
            )
        time.sleep(0.05)


def _remove_once(instance: Instance) -> Path | None:
    stuck: Path | None = None
    for folder in folders(instance):
        for group in _groups(folder):
            try:
                group.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                stuck = group
    return stuck


def _groups(folder: Path) -> Iterator[Path]:
    """The folder and all its sub-groups, the deepest first."""
    for path, _, _ in os.walk(folder, topdown=False):
        yield Path(path)
