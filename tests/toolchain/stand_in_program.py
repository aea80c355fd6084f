"""Stand-ins for programs on PATH, for packages of PyPI and for archives of releases."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
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


def tar(files: Mapping[str, str | Path]) -> bytes:
    """A compressed archive of programs, by their paths in it: texts, or files of this machine."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            if isinstance(content, Path):
                archive.add(content, name)
                continue
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))
    return made.getvalue()
