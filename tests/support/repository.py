"""This project in repositories of the test's own: a remote, and clones of it in which commands run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tensorplane.core.paths import PROJECT

_OURS = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")


class Clone:
    """A clone of the remote, with the Python environment of this checkout."""

    def __init__(self, folder: Path, remote: Path) -> None:
        self.folder = folder
        run("clone", "-q", str(remote), str(folder))
        (folder / ".venv").symlink_to(Path(sys.prefix).resolve())

    def git(self, *arguments: str) -> str:
        """What one command of git prints."""
        return run("-C", str(self.folder), *_OURS, *arguments)

    def commit(self, message: str, files: dict[str, str | None]) -> None:
        """A commit of these files; None: the file is removed."""
        for name, text in files.items():
            if text is None:
                (self.folder / name).unlink()
            else:
                (self.folder / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def tensorplane(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command as somebody would in this clone."""
        return subprocess.run(
            [sys.executable, "-m", "tensorplane.cli", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "runtime"), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )


def remote(folder: Path, files: dict[str, str]) -> Path:
    """A bare repository with one commit on `main`: the files of this checkout as they are, and these."""
    work, bare = folder / "first", folder / "origin.git"
    listed = run("-C", str(PROJECT), "ls-files", "-co", "--exclude-standard", "-z").split("\0")
    for name in filter(None, listed):
        source, target = PROJECT / name, work / name
        if os.path.lexists(source) and not name.startswith("tests/"):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    for name, text in files.items():
        (work / name).write_text(text)
    run("init", "-q", "-b", "main", str(work))
    run("-C", str(work), "add", "-A")
    run("-C", str(work), *_OURS, "commit", "-q", "-m", "first")
    run("clone", "-q", "--bare", str(work), str(bare))
    return bare


def run(*arguments: str) -> str:
    """What one command of git prints."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout
