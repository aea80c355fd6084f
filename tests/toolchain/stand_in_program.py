"""Stand-ins for programs on PATH and for packages of PyPI."""

from __future__ import annotations

import zipfile
from pathlib import Path


def script(path: Path, text: str) -> Path:
    """Writes a shell script that stands in for a program."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def wheel(folder: Path, name: str, number: str) -> Path:
    """Writes the smallest package that pip installs: a module that has its version."""
    path = folder / f"{name}-{number}-py3-none-any.whl"
    about = f"{name}-{number}.dist-info"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(f"{name}.py", f"version = {number!r}\n")
        made.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
        made.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{about}/RECORD", "")
    return path
