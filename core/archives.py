"""Unpacks tar archives that tensorplane or git has made."""

from __future__ import annotations

import tarfile
from pathlib import Path


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpacks all of an archive into a folder; what would lead out of it is refused, from Python 3.11.4 on."""
    archive.extraction_filter = getattr(tarfile, "tar_filter", None)  # `extractall(filter=…)` is as new as that
    archive.extractall(folder)  # noqa: S202  # of our own making
