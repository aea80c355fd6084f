"""Writes a file as a whole: who reads it, also after a killed run, finds the old content or the new one, never a part.

A killed run may leave a draft next to the file, `.tensorplane-…`, which nobody reads. Nothing waits for the disk: after
a power failure a file may have its old content.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600
"""The mode of a file that only its owner may read."""


def write(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
    """Replaces the file unless it already has the content. Without `mode` it keeps its mode."""
    data = content.encode() if isinstance(content, str) else content
    if path.exists():
        has = stat.S_IMODE(path.stat().st_mode)
        if mode in (None, has) and path.read_bytes() == data:
            return
        mode = mode or has
    with replaced(path, mode=mode) as file:
        file.write(data)


@contextmanager
def replaced(path: Path, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """A new file, which gets its name once the block succeeds; if it fails, the old file stays.

    With `mode`, other users cannot read a private file while it is written.
    """
    with _draft_of(path) as draft:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode or 0o666)
        with os.fdopen(descriptor, "wb") as file:
            yield file
        if mode:
            draft.chmod(mode)


def link(path: Path, target: Path) -> None:
    """Makes the path a symbolic link to the target, whatever it was."""
    with _draft_of(path) as draft:
        draft.symlink_to(target)


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    # A name of its own for each writer, and no longer than any system allows however long the file's is.
    draft = path.with_name(f".tensorplane-{secrets.token_hex(8)}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
