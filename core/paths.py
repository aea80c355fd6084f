"""Folders: tensorplane's own files, the user's project, one cache per user, and what must survive a restart."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).absolute().parents[1]
"""The package `tensorplane`: its modules and the files that it ships. In a checkout, most are links."""
_CHECKOUT = PACKAGE.parents[1]


def _project() -> Path:
    here = Path.cwd()
    found = (folder for folder in (here, *here.parents, _CHECKOUT) if (folder / "Pulumi.yaml").is_file())
    return next(found, here)


PROJECT = _project()
"""The user's project: the nearest folder with a `Pulumi.yaml`, from the working directory upwards. If there is none:
the checkout whose command it is; without a checkout, the working directory."""


def is_checkout() -> bool:
    """Whether the project is tensorplane's own repository, whose Makefile makes its environment."""
    return PROJECT.resolve() == _CHECKOUT.resolve() and (_CHECKOUT / "Makefile").is_file()


def cache() -> Path:
    """Folder for what can be built again: tools, image layers, downloads. Losing it only costs time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tensorplane"


def context_home(context: str) -> Path:
    """Folder for Pulumi's state and settings of stacks on a cluster that the caller names."""
    return state_home() / "contexts" / "".join(c if c.isalnum() or c in "-_." else "-" for c in context)


def state_home() -> Path:
    """Folder of everything that must survive a restart, of every instance."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "tensorplane"
