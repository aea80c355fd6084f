"""Steps aside for Pulumi's own plugin: where it is installed, this provider must not run."""

from __future__ import annotations

import os
from pathlib import Path


def installed() -> Path | None:
    """The folder of an installed official kubernetes plugin, None when there is none."""
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    for folder in sorted((home / "plugins").glob("resource-kubernetes-v*")):
        # A download that did not finish leaves a marker beside the folder.
        if folder.is_dir() and not folder.with_name(f"{folder.name}.partial").exists():
            return folder
    return None
