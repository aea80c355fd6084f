"""The commands behind the Makefile: what is wrong is a line on standard error and exit code 1, never a traceback."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane.cli.__main__ import main
from tensorplane.core.paths import PROJECT


def test_a_wrong_instance_is_one_line() -> None:
    environment = os.environ | {"TENSORPLANE_INSTANCE": "prod"}
    argv = [sys.executable, "-m", "tensorplane.cli", "status"]
    done = subprocess.run(argv, cwd=PROJECT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    names = "dev, test, bench, e2e, test-2, e2e-2, test-3, e2e-3, test-4, e2e-4, test-5, e2e-5, test-6, e2e-6"
    assert done.stderr == f"TENSORPLANE_INSTANCE: unknown instance 'prod'; choose one of {names}\n"


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
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("tensorplane.driver.teardown.down", fails)
    assert main(["down"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.parametrize("goal", ["down", "purge"])
def test_the_embedded_cluster_is_not_stopped_for_a_stack_that_is_elsewhere(
    goal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = subprocess.run(["make", "-n", goal, "STACK=prod"], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert f"-m tensorplane.cli {goal} --stack prod" in made.stdout
    assert main([goal, "--stack", "prod"]) == 1
    assert capsys.readouterr() == (
        "",
        f"STACK=prod: `make {goal}` only works on the embedded cluster, and this stack is on a cluster of kind eks; to "
        "delete the stack's resources there, run: pulumi destroy --stack prod --run-program\n",
    )


@pytest.mark.parametrize("goal", ["up", "status", "down", "purge"])
def test_a_stack_without_a_file_is_one_line(goal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([goal, "--stack", "nothing"]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("stack nothing: Pulumi.nothing.yaml does not exist; choose one of ")


def test_the_makefile_gives_programs_a_home_and_a_language(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "LC_ALL")}
    shown = tmp_path / "shown.mk"
    shown.write_text('shown:\n\t@echo "$$HOME $$LC_ALL"\n')
    environment |= {"LANG": "de_DE.ISO-8859-1"}
    argv = ["make", "-f", str(PROJECT / "Makefile"), "-f", str(shown), "shown"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{pwd.getpwuid(os.getuid()).pw_dir} C.UTF-8\n"
