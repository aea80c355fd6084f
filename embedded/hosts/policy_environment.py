"""Creates the policy pack's own virtual environment, and recreates it when its requirements change."""

from __future__ import annotations

import hashlib
import shutil
import sys
from functools import partial
from pathlib import Path

from embedded.paths import PROJECT
from embedded.step import Step
from embedded.tasks import Task, command

_PACK = PROJECT / "policies"


def tasks(pack: Path = _PACK) -> list[Task]:
    """The task that creates `pack`/.venv; none if the environment exists."""
    return [Task("policy environment", partial(make, pack=pack))] if _is_missing(pack) else []


def make(step: Step, pack: Path = _PACK) -> None:
    """Installs `pack`/requirements.txt into `pack`/.venv unless it is installed already."""
    if not _is_missing(pack):
        return
    venv = pack / ".venv"
    # From scratch: an environment that is incomplete, or of another Python, has no matching stamp.
    shutil.rmtree(venv, ignore_errors=True)
    command([sys.executable, "-m", "venv", venv], step=step)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-r"]
    command([*pip, _requirements(pack)], step=step)
    _stamp(pack).write_text(_wanted(pack))


def _is_missing(pack: Path) -> bool:
    return not (_stamp(pack).exists() and _stamp(pack).read_text() == _wanted(pack))


def _stamp(pack: Path) -> Path:
    return pack / ".venv" / ".requirements"


def _wanted(pack: Path) -> str:
    return hashlib.sha256(_requirements(pack).read_bytes() + sys.version.encode()).hexdigest()


def _requirements(pack: Path) -> Path:
    return pack / "requirements.txt"
