"""Detects Pulumi's own plugin: if it is installed, this provider must not run."""

from __future__ import annotations

import os
from pathlib import Path


def installed() -> Path | None:
    """The folder of an installed official kubernetes plugin, None without one."""
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    for folder in sorted((home / "plugins").glob("resource-kubernetes-v*")):
        # An unfinished download leaves a marker next to the folder.
        if folder.is_dir() and not folder.with_name(f"{folder.name}.partial").exists():
            return folder
    return None
