"""The files of a job: a copy that its command works in and can add to, and an archive that a published version keeps.

With the archive, the version's model can be made again.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

MOUNTED = Path("/opt/tensorplane/app")
"""Where a pod's files are mounted, read-only. The pod starts there."""
COPY = Path("/tmp/app")  # noqa: S108
"""The only folder of a pod that can be written, besides its volumes, is /tmp."""


def enter_copy(mounted: Path = MOUNTED, copy: Path = COPY) -> None:
    """Copies the files and changes to the copy. Nothing happens if this process is in another directory."""
    if Path.cwd() != mounted:
        return
    shutil.copytree(mounted, copy, ignore=_kubernetes_own, copy_function=shutil.copyfile, dirs_exist_ok=True)
    os.chdir(copy)
    os.environ["PWD"] = str(copy)


def write_archive(archive: Path, mounted: Path = MOUNTED) -> None:
    """Archive the job's files, the same bytes for the same files. Nothing is written for a job without files."""
    paths = (path for path in mounted.rglob("*") if not _kubernetes_own("", path.relative_to(mounted).parts))
    files = sorted(path for path in paths if path.is_file())
    if not files:
        return
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(mounted).as_posix())
            made.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _kubernetes_own(_: str, names: Sequence[str]) -> set[str]:
    """Kubernetes keeps the files of a ConfigMap in a folder `..2026_…`, to which links such as `train.py` lead."""
    return {name for name in names if name.startswith("..")}
