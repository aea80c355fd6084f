"""The merge base of a branch: its commit, and a copy of the project as it was there."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tensorplane.core import archives
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT

_ENVIRONMENT = ".venv"
_COMMIT_DIGITS = 10


@dataclass(frozen=True)
class MergeBase:
    """A copy of the project at the commit in which two branches parted."""

    commit: str
    folder: Path

    @property
    def short(self) -> str:
        """The commit as messages name it."""
        return self.commit[:_COMMIT_DIGITS]

    @property
    def variables(self) -> dict[str, str]:
        """Variables with which its program runs the code of its own commit, if the project has code of tensorplane."""
        runtime = self.folder / "runtime"
        return {"PYTHONPATH": str(runtime)} if (runtime / "tensorplane" / "stack").exists() else {}


@contextmanager
def check_out(revision: str, project: Path = PROJECT) -> Iterator[MergeBase]:
    """The merge base of HEAD and `revision`, in a folder that is removed afterwards. The checkout stays as it is.

    Its program runs in this checkout's Python environment. A UserError if there is no such revision.
    """
    commit = _git(project, "merge-base", "HEAD", revision).decode().strip()
    with tempfile.TemporaryDirectory(prefix="tensorplane-merge-base-") as folder:
        with tarfile.open(fileobj=io.BytesIO(_git(project, "archive", commit))) as archive:
            archives.extract(archive, Path(folder))
        if (project / _ENVIRONMENT).exists():
            (Path(folder) / _ENVIRONMENT).symlink_to((project / _ENVIRONMENT).resolve())
        yield MergeBase(commit, Path(folder))


def _git(project: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", project, *arguments], capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines() or ["it says nothing"]
        remedy = "give a revision that this clone has, such as origin/main; fetch it with its history first"
        raise UserError(f"merge base: git {' '.join(arguments)} failed: {reason[-1]}; {remedy}")
    return done.stdout
