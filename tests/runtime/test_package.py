"""The library as a package: what importing it loads, and its former name."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import tensorplane
from tests.runtime.launching import IN_PODS, LIBRARY
from tests.support.waiting import PATIENT_SECONDS


def _python(program: str) -> str:
    """What a program prints that has the library on its path, as pods have it."""
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, env={"PYTHONPATH": IN_PODS}, capture_output=True, text=True, timeout=PATIENT_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_loads_no_tensorflow() -> None:
    program = "import sys; from tensorplane import StopRequest, publish; print('tensorflow' in sys.modules)"
    assert _python(program) == "False"


@pytest.mark.parametrize("name", tensorplane.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert hasattr(tensorplane, name)


def test_an_unknown_name_is_an_import_error() -> None:
    with pytest.raises(ImportError, match="Checkpoint"):
        exec("from tensorplane import Checkpoint")


@pytest.mark.parametrize(
    "name", ["checkpoints", "cluster", "data", "declared_streams", "loop", "publish", "stop", "stream"]
)
def test_programs_of_deployed_runs_import_its_modules_by_their_former_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(LIBRARY / "tensorplane" / "archive_root"))
    # The folder of this project is not the module.
    monkeypatch.delitem(sys.modules, "runtime", raising=False)
    former, current = import_module(f"runtime.{name}"), import_module(f"tensorplane.{name}")
    assert former.__file__ == current.__file__
    for public in getattr(current, "__all__", ()):
        assert getattr(former, public) is getattr(current, public)


def test_the_former_name_has_the_version_and_loads_no_tensorflow() -> None:
    program = "import sys, runtime, runtime.stop; print(runtime.__version__, 'tensorflow' in sys.modules)"
    assert _python(program) == f"{tensorplane.__version__} False"
