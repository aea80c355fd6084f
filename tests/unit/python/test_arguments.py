"""Programs and editors know the arguments of workloads: they are those of the settings."""

from __future__ import annotations

import os
import subprocess
import sys

from tensorplane.core.paths import PACKAGE
from tests.support import python_arguments

_FILE = PACKAGE / "pulumi" / "arguments.py"


def test_the_arguments_of_python_are_the_settings() -> None:
    made = python_arguments.module()
    for command in (("check", "--quiet", "--select", "I", "--fix"), ("format",)):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(_FILE), "-"]
        made = subprocess.run(ruff, input=made, capture_output=True, text=True, check=True).stdout
    if os.environ.get("UPDATE_GOLDEN"):
        _FILE.write_text(made)
    assert _FILE.read_text() == made
