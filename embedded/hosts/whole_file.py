"""Writes small files so that a reader, or a run that is killed, finds the old text or the new one, never a part."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replaces the file, unless it holds the text already. Without `mode` it keeps the mode that it has."""
    if path.exists():
        if path.read_text() == text:
            return
        mode = mode or path.stat().st_mode
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text)
    if mode:
        draft.chmod(mode)
    draft.replace(path)
