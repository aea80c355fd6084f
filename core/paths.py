"""Where tensorplane keeps files: one cache per user, and a folder for what must survive a restart."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


def cache() -> Path:
    """Folder for what can be built again: tools, image layers, downloads. Losing it only costs time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tensorplane"


def context_home(context: str) -> Path:
    """Folder for Pulumi's state and settings of stacks on a cluster that `make up CONTEXT=…` names."""
    return state_home() / "contexts" / "".join(c if c.isalnum() or c in "-_." else "-" for c in context)


def state_home() -> Path:
    """Folder of everything that must survive a restart, of every instance."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "tensorplane"
