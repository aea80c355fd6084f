"""Finds installed Pulumi plugins: on PATH, next to the CLI, or in Pulumi's plugin cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LAUNCHER_MARK = "# tensorplane's launcher"
"""The first line of launchers that this package wrote."""


def is_ours(program: Path) -> bool:
    """Whether a file is a launcher that this package wrote."""
    try:
        with program.open("rb") as file:
            return LAUNCHER_MARK.encode() in file.read(512)
    except OSError:
        return False


def on_path(program: str, *, but_not_in: Path | None = None) -> Path | None:
    """The first `program` on PATH that is not ours."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(program, path=folder) if folder and Path(folder) != but_not_in else None
        if found and not is_ours(Path(found)):
            return Path(found)
    return None


def next_to(cli: Path | None, program: str) -> Path | None:
    """`program` in the folder of the CLI's own file, where Pulumi's releases have the language hosts."""
    candidate = cli.resolve().parent / program if cli else None
    return candidate if candidate and os.access(candidate, os.X_OK) and not is_ours(candidate) else None


def cached(kind: str, name: str) -> list[Path]:
    """Versions of a plugin in Pulumi's cache, where `pulumi plugin install` and the engine put them."""
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    return sorted(folder for folder in (home / "plugins").glob(f"{kind}-{name}-v*") if folder.is_dir())


def present(packages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The packages whose resource plugin is installed and Pulumi's own. The engine looks for others when they are used.

    Naming every SDK that is installed would make the engine download plugins of clouds that the stack does not use.
    """
    return [
        package
        for package in packages
        if on_path(f"pulumi-resource-{package['name']}") or cached("resource", package["name"])
    ]
