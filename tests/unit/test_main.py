"""The commands behind the Makefile: what is wrong is a line on standard error and exit code 1, never a traceback."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from embedded import __main__ as commands
from embedded.paths import PROJECT


def test_a_wrong_instance_is_one_line() -> None:
    environment = os.environ | {"TENSORPLANE_INSTANCE": "prod"}
    argv = [sys.executable, "-m", "embedded", "status"]
    done = subprocess.run(argv, cwd=PROJECT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    names = "dev, test, bench, e2e, test-2, e2e-2, test-3, e2e-3"
    assert done.stderr == f"TENSORPLANE_INSTANCE: got 'prod', need one of {names}\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "/x/layer"), "the disk is full"),
        (PermissionError(13, "Permission denied", "/x/settings"), "/x/settings: Permission denied"),
    ],
)
def test_a_file_that_cannot_be_written_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: OSError, said: str
) -> None:
    def fails(args: object) -> None:
        raise error

    monkeypatch.setattr(commands, "_run", fails)
    monkeypatch.setattr(sys, "argv", ["embedded", "down"])
    assert commands.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_the_makefile_gives_programs_a_home_and_a_language(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "LC_ALL")}
    shown = tmp_path / "shown.mk"
    shown.write_text('shown:\n\t@echo "$$HOME $$LC_ALL"\n')
    environment |= {"LANG": "de_DE.ISO-8859-1"}
    argv = ["make", "-f", str(PROJECT / "Makefile"), "-f", str(shown), "shown"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{pwd.getpwuid(os.getuid()).pw_dir} C.UTF-8\n"
