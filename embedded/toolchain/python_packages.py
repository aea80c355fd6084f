"""Installs the project's and the tests' Python packages into this environment, when their pins have changed."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

from embedded.paths import PROJECT
from embedded.progress import Step
from embedded.tasks import command

REQUIREMENTS = tuple(PROJECT / name for name in ("requirements.txt", "requirements-aks.txt", "tests/requirements.txt"))


def is_missing(prefix: Path | None = None, requirements: Iterable[Path] = REQUIREMENTS) -> bool:
    """Whether the pins differ from those of the last finished install."""
    stamp = _stamp(prefix)
    return not stamp.exists() or stamp.read_text() != _digest(requirements)


def install(step: Step, prefix: Path | None = None, requirements: Iterable[Path] = REQUIREMENTS) -> None:
    """Runs pip for all files at once, so that it finds versions that fit all of them."""
    step.note("reading requirements")
    files = [word for path in requirements for word in ("--requirement", str(path))]
    python = str((prefix or Path(sys.prefix)) / "bin" / "python")
    command(
        [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off", *files],
        step=step,
    )
    # Written last: an install that was killed is done again.
    _stamp(prefix).write_text(_digest(requirements))


def _stamp(prefix: Path | None) -> Path:
    return (prefix or Path(sys.prefix)) / ".tensorplane-packages"


def _digest(requirements: Iterable[Path]) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in requirements:
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
