"""Writes small files atomically: a reader, also after a killed run, finds the old text or the new one, never a part."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def write(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replaces the file unless it already has the text. Without `mode` it keeps its mode."""
    if path.exists():
        has = stat.S_IMODE(path.stat().st_mode)
        if path.read_text() == text and mode in (None, has):
            return
        mode = mode or has
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    # Other users must not read a private file while it is written.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode or 0o666)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    if mode:
        draft.chmod(mode)
    draft.replace(path)
