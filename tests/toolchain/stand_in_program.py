"""Stand-ins for programs on PATH."""

from __future__ import annotations

from pathlib import Path


def script(path: Path, text: str) -> Path:
    """Writes a shell script that stands in for a program."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
