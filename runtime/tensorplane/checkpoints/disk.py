"""Writes that survive a power cut. It only requires the standard library, because the launcher uses it."""

from __future__ import annotations

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Waits until a file, or the entries of a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
