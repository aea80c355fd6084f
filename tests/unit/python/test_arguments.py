"""Programs and editors know the arguments of workloads: they are those of the settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.nightly("a minute of mypy")
def test_mypy_knows_them_in_a_program_that_has_no_plugin_of_it(tmp_path: Path) -> None:
    wrong = """\
import tensorplane.pulumi as tp

platform = tp.Stack("ml", cluster=tp.Existing(context="lab"), queues={"research": tp.QueueArgs(cpus=8, memory_gib=32)})
tp.TrainingJob("a", platform=platform, strategy=tp.MultiWorkerMirrored(workers=2), script="a.py", worker=2)
tp.TrainingJob("b", platform=platform, strategy=tp.MultiWorkerMirrored(workers="two"), script="b.py")
"""
    (tmp_path / "wrong.py").write_text(wrong)
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nstrict = True\nfollow_imports = silent\nmypy_path = {PACKAGE.parent}\n"
    )
    argv = [sys.executable, "-m", "mypy", "--cache-dir", "cache", "wrong.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    errors = [line.split(":")[1] for line in done.stdout.splitlines() if ": error: " in line]
    assert errors == ["4", "5"], done.stdout + done.stderr
