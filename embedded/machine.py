"""Examines this machine: the kernel features, sizes and system programs that the embedded cluster requires."""

from __future__ import annotations

import ipaddress
import os
import platform
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tensorplane.toolchain.tool_folders import on_path

_CGROUPS = Path("/sys/fs/cgroup")
_TRIAL_SECONDS = 20


@dataclass(frozen=True)
class Route:
    """One entry of the main routing table."""

    network: ipaddress.IPv4Network
    device: str


@dataclass(frozen=True)
class Machine:
    """What was found, as plain values, so that the checks can be tested without a machine."""

    system: str = "Linux"
    architecture: str = "x86_64"
    is_root: bool = True
    cgroup_version: int = 2
    """0: no hierarchy is mounted; 1: one for each controller, also on hybrid machines; 2: the unified one."""
    controllers: frozenset[str] = frozenset()
    """Controllers that sub-groups may use."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """The error of each kernel feature whose trial failed, by feature; empty if all work."""
    memory_mib: int = 0
    free_mib: Mapping[str, int] = field(default_factory=dict)
    """Free space of each file system that gets files, by folder."""
    missing_packages: tuple[str, ...] = ()
    has_apt: bool = True
    routes: tuple[Route, ...] = ()


def probe(folders: Iterable[Path], missing_packages: Iterable[str]) -> Machine:
    """Examines everything; changes nothing outside throw-away namespaces."""
    basics = Machine(
        system=platform.system(),
        architecture=platform.machine(),
        is_root=os.geteuid() == 0,
        missing_packages=tuple(missing_packages),
        has_apt=bool(on_path("apt-get") and on_path("dpkg-deb")),
        free_mib=_free(folders),
    )
    if basics.system != "Linux":
        return basics
    version, controllers = _cgroups()
    return replace(
        basics,
        cgroup_version=version,
        controllers=controllers,
        refusals=_try_features() if basics.is_root else {},
        memory_mib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        routes=routes(Path("/proc/net/route").read_text()),
    )


def _cgroups() -> tuple[int, frozenset[str]]:
    unified = _CGROUPS / "cgroup.controllers"
    if unified.exists():
        return 2, frozenset(unified.read_text().split())
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    options = {word for mount in mounts if mount[2] == "cgroup" for word in mount[3].split(",")}
    known = {line.split()[0] for line in Path("/proc/cgroups").read_text().splitlines()[1:]}
    return (1 if options & known else 0), frozenset(options & known)


_OVERLAY = """
mount -t tmpfs trial /mnt
mkdir /mnt/lower /mnt/upper /mnt/work /mnt/merged
mount -t overlay overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work /mnt/merged
"""
# Each trial uses the feature in temporary namespaces: a kernel's configuration file does not always exist, modules load
# on first use, and a container's limits are in no file. In order: feature, required program, command.
_TRIALS = (
    ("namespaces", "unshare", ["unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "true"]),
    ("overlayfs", "mount", ["unshare", "--mount", "sh", "-ec", _OVERLAY]),
    ("veth", "ip", ["unshare", "--net", "ip", "link", "add", "trial0", "type", "veth", "peer", "name", "trial1"]),
    ("bridge", "ip", ["unshare", "--net", "ip", "link", "add", "trial0", "type", "bridge"]),
    ("nftables", "nft", ["unshare", "--net", "nft", "add table ip trial"]),
)


def _try_features() -> dict[str, str]:
    found = {}
    for feature, program, argv in _TRIALS:
        # A feature whose program is not installed yet is not tried; the cluster's first start shows whether it works.
        if on_path("unshare") and on_path(program) and (refusal := _try(argv)):
            found[feature] = refusal
    return found


def _try(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_TRIAL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    return (lines[-1] if lines else f"exit {done.returncode}") if done.returncode else ""


def _free(folders: Iterable[Path]) -> dict[str, int]:
    found: dict[int, tuple[str, int]] = {}
    for folder in folders:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        found.setdefault(existing.stat().st_dev, (str(folder), shutil.disk_usage(existing).free >> 20))
    return dict(found.values())


def routes(table: str) -> tuple[Route, ...]:
    """Reads the kernel's own table (/proc/net/route): `ip` may not be installed yet. The default route is left out."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return tuple(
        Route(ipaddress.IPv4Network((_address(row[1]), _address(row[7]))), row[0])
        for row in rows
        if row[7] != "00000000"
    )


def _address(text: str) -> str:
    return socket.inet_ntoa(struct.pack("=I", int(text, 16)))
