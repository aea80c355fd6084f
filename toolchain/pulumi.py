"""Finds the Pulumi CLI, or gets it: the one on PATH, else Pulumi's installer, else a build of its Go module."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from functools import cache as memoize
from importlib.metadata import version
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain import go_build, go_module
from tensorplane.toolchain.tool_folders import made_whole, on_path, tools_folder

OLDEST = (3, 200, 0)
"""The oldest CLI that this project's SDK was tested with."""

INSTALLER = "https://get.pulumi.com/install.sh"
_REACH_SECONDS = 8.0
_INSTALL_SECONDS = 240.0
_INSTALL = """
import sys
from pulumi.automation import PulumiCommand
from semver import VersionInfo
PulumiCommand.install(root=sys.argv[1], version=VersionInfo.parse(sys.argv[2]))
"""


def find() -> Path | None:
    """The installed CLI, in the order of preference."""
    candidates = (_users_own(), _installed(), go_module.pulumi().path("pulumi"))
    return next((path for path in candidates if path and path.exists()), None)


def obtain(step: Step) -> None:
    """Gets a CLI into the cache, unless one is installed."""
    if find() or _install(step):
        return
    go_build.build(go_module.pulumi(), step)


def _users_own() -> Path | None:
    # This environment's `pulumi` is a link that the project created, perhaps to an old version.
    found = on_path("pulumi", aside=(Path(sys.prefix) / "bin",))
    if found and tools_folder() not in found.resolve().parents and _version(found) >= OLDEST:
        return found
    return None


def _installed() -> Path:
    # The installer has every release, so the CLI can have the SDK's version.
    return tools_folder() / f"pulumi-official-{version('pulumi')}" / "bin" / "pulumi"


def _install(step: Step) -> bool:
    step.note("looking for Pulumi's installer")
    if not is_reachable(INSTALLER):
        step.note("Pulumi's installer cannot be reached; building the CLI from its Go module")
        return False
    folder = _installed().parent.parent
    try:
        with made_whole(folder, step) as draft:
            if draft:
                step.note("running Pulumi's installer")
                argv = [sys.executable, "-c", _INSTALL, str(draft), version("pulumi")]
                command(argv, step=step, timeout=_INSTALL_SECONDS)
                if not (draft / "bin" / "pulumi").exists():
                    raise UserError("Pulumi's installer left no bin/pulumi")
    except UserError:
        step.note("Pulumi's installer failed; building the CLI from its Go module")
        return False
    return True


def is_reachable(url: str) -> bool:
    """Whether an address answers soon. Uses the environment's proxy."""
    request = urllib.request.Request(url, method="HEAD")  # noqa: S310, an https address of this file's
    # A new opener: `urlopen` keeps the proxies of its first call.
    try:
        with urllib.request.build_opener().open(request, timeout=_REACH_SECONDS):
            return True
    except OSError:
        return False


def _version(program: Path) -> tuple[int, int, int]:
    return _ask_version(program, program.stat().st_mtime_ns)


@memoize
def _ask_version(program: Path, _changed: int) -> tuple[int, int, int]:
    quiet = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "1"}
    try:
        output = subprocess.run([program, "version"], env=quiet, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0, 0)
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", output.strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else (0, 0, 0)
