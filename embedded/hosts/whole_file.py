"""Writes small files so that a reader, or a run that is killed, finds the old text or the new one, never a part."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def write(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replaces the file, unless it holds the text already. Without `mode` it keeps the mode that it has."""
    if path.exists():
        has = stat.S_IMODE(path.stat().st_mode)
        if path.read_text() == text and mode in (None, has):
            return
        mode = mode or has
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    # Nobody else may read a private file while it is written.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode or 0o666)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    if mode:
        draft.chmod(mode)
    draft.replace(path)
