"""Installs missing system programs of the cluster from Debian (or Ubuntu)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain.tool_folders import on_path

PROGRAMS = {
    "runc": "runc",  # starts containers
    "nft": "nftables",  # the services' addresses, and the cluster's own firewall
    "ip": "iproute2",  # the cluster's network
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
    "tar": "tar",
}
"""Program -> its package."""
STORAGE = {"mkfs.btrfs": "btrfs-progs"}
"""The same, for the CSI driver's pool."""
BROWSER = {"chromium": "chromium"}
"""The same, for the tests of web pages."""

LISTS = Path("/var/lib/apt/lists")
_STALE_SECONDS = 7 * 24 * 3600
_LOCK_SECONDS = 300
_APT = [
    "apt-get",
    "--quiet",
    f"--option=DPkg::Lock::Timeout={_LOCK_SECONDS}",
    "--option=Acquire::Retries=3",
    "--option=Dpkg::Options::=--force-confold",
]
_SILENT = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "a", "LC_ALL": "C.UTF-8"}


def missing(programs: Mapping[str, str] = PROGRAMS) -> list[str]:
    """Packages to install, sorted; none if the machine has every program, whatever its distribution."""
    return sorted({package for program, package in programs.items() if not on_path(program)})


def install(step: Step, programs: Mapping[str, str] = PROGRAMS) -> None:
    """Installs missing packages, without recommended ones."""
    packages = missing(programs)
    if not packages:
        return
    if not on_path("apt-get"):
        raise UserError(
            f"missing {', '.join(packages)}, and this machine has no apt-get; install them, then run the command again"
        )
    _mend(step)
    if _lists_are_old():
        _update(step)
    step.note(f"installing {', '.join(packages)}")
    try:
        _install(packages, step)
    except UserError:
        # The mirror may have changed since the lists were read: read them again, once.
        _update(step)
        _install(packages, step)


def _install(packages: list[str], step: Step) -> None:
    command([*_APT, "install", "--yes", "--no-install-recommends", *packages], step=step, env=_SILENT)


def _update(step: Step) -> None:
    step.note("reading the package lists")
    try:
        command([*_APT, "update"], step=step, env=_SILENT)
    except UserError:
        # One unreachable source among several may not matter; if it does, the installation fails.
        step.note("some package lists could not be read")


def _mend(step: Step) -> None:
    """Finishes the configuration of packages after a killed apt, which refuses to work before that."""
    if any(Path("/var/lib/dpkg/updates").glob("[0-9]*")):
        step.note("finishing an interrupted installation")
        command(["dpkg", "--force-confold", "--configure", "--pending"], step=step, env=_SILENT)


def _lists_are_old() -> bool:
    lists = (
        [entry.stat().st_mtime for entry in os.scandir(LISTS) if "_Packages" in entry.name] if LISTS.exists() else []
    )
    stamp = max([*lists, *([LISTS.stat().st_mtime] if lists else [])], default=0.0)
    return time.time() - stamp > _STALE_SECONDS
