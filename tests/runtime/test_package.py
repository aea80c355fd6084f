"""The library as a package: what importing it loads, its former name, and the wheel that pip makes of it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from email import message_from_string
from importlib import import_module
from pathlib import Path

import pytest

import tensorplane
from tests.runtime.launching import LIBRARY
from tests.support.waiting import PATIENT_SECONDS


def _python(program: str) -> str:
    """What a program prints that has the library on its path, as pods have it."""
    argv = [sys.executable, "-c", program]
    done = subprocess.run(
        argv, env={"PYTHONPATH": str(LIBRARY)}, capture_output=True, text=True, timeout=PATIENT_SECONDS
    )
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
def test_programs_of_deployed_runs_import_its_modules_by_their_former_names(name: str) -> None:
    former, current = import_module(f"runtime.{name}"), import_module(f"tensorplane.{name}")
    assert former.__file__ == current.__file__
    for public in getattr(current, "__all__", ()):
        assert getattr(former, public) is getattr(current, public)


def test_the_former_name_has_the_version_and_loads_no_tensorflow() -> None:
    program = "import sys, runtime, runtime.stop; print(runtime.__version__, 'tensorflow' in sys.modules)"
    assert _python(program) == f"{tensorplane.__version__} False"


@pytest.mark.skipif(not importlib.util.find_spec("setuptools"), reason="setuptools builds the wheel")
def test_pip_builds_a_wheel_of_the_package_alone(tmp_path: Path) -> None:
    # A copy: setuptools builds beside the sources.
    source = shutil.copytree(LIBRARY, tmp_path / "runtime", ignore=shutil.ignore_patterns("__pycache__"))
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(tmp_path))
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True, timeout=PATIENT_SECONDS)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        modules = {name for name in content.namelist() if ".dist-info/" not in name}
        information = content.read(f"tensorplane-{tensorplane.__version__}.dist-info/METADATA").decode()
    files = [path for path in (LIBRARY / "tensorplane").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert modules == {path.relative_to(LIBRARY).as_posix() for path in files}
    metadata = message_from_string(information)
    assert (metadata["Name"], metadata["Version"]) == ("tensorplane", tensorplane.__version__)
    assert all("extra ==" in needed for needed in metadata.get_all("Requires-Dist", []))
