"""Remembers for which settings and program the policies passed, so that they need no preview of the same update.

They run in that update all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.base import names
from components.base.recorded_usage import VARIABLE
from core import whole_file
from driver.policy_pack import PACK
from driver.stack_settings import StackSettings

_SUFFIXES = frozenset({".csv", ".json", ".py", ".txt", ".yaml"})
"""Of the files that decide what the program declares and how the policies see it."""


@dataclass(frozen=True)
class PassRecord:
    """Whether the policies passed in an update."""

    file: Path
    """Where a home keeps the key of the last update in which they passed."""
    key: str
    """A hash of settings, program and policies."""

    @classmethod
    def of(cls, settings: StackSettings, environment: Mapping[str, str]) -> PassRecord:
        """Of an update as the files are now. `environment`: the variables of `pulumi`."""
        given = {**os.environ, **environment}
        seen = [given.get(name) for name in ("TENSORPLANE_CONTEXT", VARIABLE)]
        files = {str(path): _version(path) for path in (*_files(settings.project), *_files(PACK))}
        key = names.digest_of([settings.file.read_text(), seen, files], 64)
        return cls(settings.folder / f"{settings.name}.policies", key)

    @property
    def passed(self) -> bool:
        """Whether they passed in the last such update, and it was the same."""
        return self.file.exists() and self.file.read_text() == self.key

    def save(self) -> None:
        """They passed."""
        whole_file.write(self.file, self.key)


def _version(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_size, about.st_mtime_ns


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "__pycache__")) or not entry.exists():
            continue
        if entry.is_dir():
            yield from _files(entry)
        elif entry.suffix in _SUFFIXES:
            yield entry
