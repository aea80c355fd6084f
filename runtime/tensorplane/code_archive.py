"""The files of a job as an archive, which a published version keeps so that its model can be made again."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tensorplane.working_directory import MOUNTED


def write(archive: Path, mounted: Path = MOUNTED) -> None:
    """Archive the job's files, the same bytes for the same files. Nothing is written for a job without files."""
    files = sorted(path for path in mounted.rglob("*") if _is_own(path.relative_to(mounted)) and path.is_file())
    if not files:
        return
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(mounted).as_posix())
            made.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _is_own(path: Path) -> bool:
    """Whether a file is the job's. Kubernetes keeps those of a ConfigMap in `..2026_…`, to which links lead."""
    return not any(part.startswith("..") for part in path.parts)
