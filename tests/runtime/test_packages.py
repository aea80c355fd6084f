"""Packages on a volume: pip installs them once, with their hashes, and nobody sees half of them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.runtime.launching import LIBRARY
from tests.support.environment import of_machine
from tests.support.waiting import PATIENT_SECONDS

_WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    """The locked set of one package, whose wheel is in a folder that stands for the index."""
    info, wheel = "nothing-1.0.dist-info", tmp_path / "index" / "nothing-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("nothing.py", "value = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", _WHEEL)
        archive.writestr(f"{info}/RECORD", f"nothing.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    file = tmp_path / "requirements.txt"
    file.write_text(f"nothing==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    return file


def _install(requirements: Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The init container's program, with the real pip and without a network."""
    argv = [sys.executable, "-I", str(LIBRARY / "tensorplane" / "packages.py"), str(requirements), str(folder)]
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(requirements.parent / "index")}
    env = {**of_machine(), "HOME": str(requirements.parent), **index, **more}
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENT_SECONDS, env=env)


def _value(folder: Path) -> str:
    argv = [sys.executable, "-c", "import nothing; print(nothing.value)"]
    return subprocess.run(argv, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(folder)}).stdout


def test_they_are_installed_once_and_imported_from_the_volume(requirements: Path, tmp_path: Path) -> None:
    folder = tmp_path / "volume" / ".tensorplane" / "packages" / "1a2b"
    done = _install(requirements, folder)
    assert done.returncode == 0, done.stderr
    assert _value(folder) == "42\n"
    again = _install(requirements, folder, PIP_FIND_LINKS="/nowhere")
    assert (again.returncode, again.stdout) == (0, "")
    assert [path.name for path in folder.parent.iterdir()] == ["1a2b"], "no draft is left"


@pytest.mark.nightly("three processes with pip at once")
def test_pods_of_one_gang_install_them_together(requirements: Path, tmp_path: Path) -> None:
    folder = tmp_path / "volume" / "1a2b"
    with ThreadPoolExecutor(3) as pool:
        both_first = [pool.submit(_install, requirements, folder) for _ in range(2)]
        waits = pool.submit(_install, requirements, folder, JOB_COMPLETION_INDEX="1", PIP_FIND_LINKS="/nowhere")
        assert [each.result().returncode for each in (*both_first, waits)] == [0, 0, 0]
    assert _value(folder) == "42\n"
    assert [path.name for path in folder.parent.iterdir()] == ["1a2b"]


def test_other_content_is_refused_with_a_hint(requirements: Path, tmp_path: Path) -> None:
    requirements.write_text(f"nothing==1.0 --hash=sha256:{'0' * 64}\n")
    folder = tmp_path / "volume" / "1a2b"
    done = _install(requirements, folder)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("tensorplane: packages: pip failed with exit code 1; pods reach a ")
    assert not any(folder.parent.iterdir())
