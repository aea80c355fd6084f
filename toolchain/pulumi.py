"""Finds the Pulumi CLI, or gets it: the one on PATH, else Pulumi's release, else a build of its Go module."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache as memoize
from pathlib import Path

from tensorplane.core.step import Step
from tensorplane.toolchain import go_build, go_module
from tensorplane.toolchain.tool_folders import on_path, tools_folder

OLDEST = (3, 200, 0)
"""The oldest CLI that this project's SDK was tested with."""


def find() -> Path | None:
    """The installed CLI, in the order of preference."""
    candidates = (_users_own(), go_module.pulumi().path("pulumi"))
    return next((path for path in candidates if path and path.exists()), None)


def obtain(step: Step) -> None:
    """Gets a CLI into the cache, unless one is installed."""
    if not find():
        go_build.build(go_module.pulumi(), step)


def _users_own() -> Path | None:
    # This environment's `pulumi` is a link that the project created, perhaps to an old version.
    found = on_path("pulumi", aside=(Path(sys.prefix) / "bin",))
    if found and tools_folder() not in found.resolve().parents and _version(found) >= OLDEST:
        return found
    return None


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
