"""The working directory of a job's command: a copy of the mounted files, to which programs can add their own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

MOUNTED = Path("/opt/tensorplane/app")
"""Where a pod's files are mounted, read-only. The pod starts there."""
COPY = Path("/tmp/app")  # noqa: S108
"""The only folder of a pod that can be written, besides its volumes, is /tmp."""


def enter_copy(mounted: Path = MOUNTED, copy: Path = COPY) -> None:
    """Copy the files and change to the copy. Nothing happens if this process is in another directory."""
    if Path.cwd() != mounted:
        return
    shutil.copytree(mounted, copy, ignore=_versions, copy_function=shutil.copyfile, dirs_exist_ok=True)
    os.chdir(copy)
    os.environ["PWD"] = str(copy)


def _versions(_: str, names: Sequence[str]) -> set[str]:
    """Kubernetes keeps the files of a ConfigMap in a folder `..2026_…`, to which links such as `train.py` lead."""
    return {name for name in names if name.startswith("..")}
