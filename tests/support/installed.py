"""The wheel in an environment of its own, with what it asks for and nothing else, as members of teams install it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tensorplane.core.paths import PROJECT
from tensorplane.toolchain import pip_settings
from tests.support.waiting import PATIENT_SECONDS

_PINS = ("requirements.txt", "core/requirements.txt")
ELSEWHERE_MISSING = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
"""Modules of Python that Windows has not, and macOS in part: the environment has none of them either."""
_WITHOUT = f"""
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name in {ELSEWHERE_MISSING}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

for name in {ELSEWHERE_MISSING}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Without())
"""


def build_wheel(folder: Path) -> Path:
    """Builds this checkout's wheel into the folder."""
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(PROJECT)], check=True, timeout=PATIENT_SECONDS)
    (wheel,) = folder.glob("tensorplane-*-py3-none-any.whl")
    return wheel


def install(wheel: Path, environment: Path) -> Path:
    """Installs the wheel without extras, in the versions that this checkout pins; the environment's Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    configuration = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    ).stdout
    command, settings = pip_settings.installer(str(python), configuration)
    pins = (word for file in _PINS for word in ("--constraint", str(PROJECT / file)))
    subprocess.run([*command, "--quiet", *pins, str(wheel)], env={**os.environ, **settings}, check=True)
    packages(environment).joinpath("sitecustomize.py").write_text(_WITHOUT)
    return python


def packages(environment: Path) -> Path:
    """The environment's folder of packages."""
    (folder,) = environment.glob("lib/python3*/site-packages")
    return folder
