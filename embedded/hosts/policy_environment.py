"""Creates the policy pack's own virtual environment, and recreates it when its requirements change."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from embedded.paths import PROJECT
from embedded.step import Step
from embedded.tasks import Task, command

_PACK = PROJECT / "policies"


def task() -> Task:
    """The task that creates policies/.venv. It takes no time if the environment exists."""
    return Task("policy environment", make)


def make(step: Step, pack: Path = _PACK) -> None:
    """Installs `pack`/requirements.txt into `pack`/.venv unless it is installed already."""
    requirements, venv = pack / "requirements.txt", pack / ".venv"
    stamp = venv / ".requirements"
    wanted = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    # From scratch: an environment that is incomplete, or of another Python, has no matching stamp.
    shutil.rmtree(venv, ignore_errors=True)
    command([sys.executable, "-m", "venv", venv], step=step)
    python = venv / "bin" / "python"
    command(
        [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-r", requirements], step=step
    )
    stamp.write_text(wanted)
