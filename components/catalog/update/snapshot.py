"""Reads files from snapshots of public repositories, without a work tree."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Snapshot:
    """A git repository at `<folder>/<owner>+<name>/repo`, `<folder>/<owner>/<name>` or the latter with `.git`."""

    name: str
    path: Path

    @classmethod
    def find(cls, folder: Path, name: str) -> Snapshot:
        """The repository `owner/name` below a folder. Raises FileNotFoundError if there is none."""
        owner, _, repository = name.partition("/")
        candidates = [folder / f"{owner}+{repository}" / "repo", folder / name, folder / f"{name}.git"]
        for candidate in candidates:
            if candidate.is_dir():
                return cls(name, candidate)
        raise FileNotFoundError(f"no snapshot of {name} in {folder}: git clone it to {folder / name}")

    def text(self, file: str) -> str:
        """A file at the newest commit."""
        return self._git("show", f"HEAD:{file}")

    def day(self, file: str) -> str:
        """Date of a file's last change, such as 2026-08-03."""
        return self._git("log", "-1", "--format=%cs", "--", file).strip()

    def source(self, file: str) -> str:
        """A file as a source in the catalog."""
        return f"{self.name}@{self._git('rev-parse', '--short=7', 'HEAD').strip()} {file}"

    def _git(self, *words: str) -> str:
        run = subprocess.run(["git", "-C", self.path, *words], capture_output=True, text=True, check=True)
        return run.stdout
