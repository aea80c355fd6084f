"""Packages from Debian and PyPI: only what is missing, again when the pins change."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.toolchain import debian, python_packages
from tests.toolchain.stand_in_program import wheel

OF_APT = pytest.mark.nightly("asks this machine's apt and its lists")


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real environment of the test's own."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder


def test_python_packages_are_installed_once_for_the_same_pins(own_cache: Path, venv: Path, tmp_path: Path) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text(f"{wheel(tmp_path, 'tiny', '1.0')}\n")
    assert python_packages.is_missing([pins], venv)
    python_packages.install(Step("python packages"), [pins], venv)
    assert not python_packages.is_missing([pins], venv)
    pins.write_text(f"{wheel(tmp_path, 'tiny', '2.0')}\n")
    assert python_packages.is_missing([pins], venv)
    python_packages.install(Step("python packages"), [pins], venv)
    other = tmp_path / "tests.txt"
    other.write_text("")
    assert python_packages.is_missing([pins, other], venv)
    python_packages.install(Step("python packages"), [other], venv)
    assert not python_packages.is_missing([pins, other], venv)
    said = subprocess.run([venv / "bin" / "python", "-c", "import tiny; print(tiny.version)"], capture_output=True)
    assert said.stdout == b"2.0\n"


def test_a_failed_install_is_tried_again(own_cache: Path, venv: Path, tmp_path: Path) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text(f"{tmp_path}/absent-1.0-py3-none-any.whl\n")
    with pytest.raises(UserError, match="absent"):
        python_packages.install(Step("python packages"), [pins], venv)
    assert python_packages.is_missing([pins], venv)


def test_only_missing_programs_ask_for_packages(only_on_path: Callable[..., Path]) -> None:
    present = [Path("/bin/true").with_name(name) for name in ("mount", "tar")]
    only_on_path(*present)
    assert debian.missing() == ["iproute2", "nftables", "runc", "util-linux"]


def test_without_apt_a_missing_program_is_one_line(only_on_path: Callable[..., Path]) -> None:
    only_on_path()
    with pytest.raises(UserError, match=r"missing iproute2, .*, and this machine has no apt-get"):
        debian.install(Step("debian packages"))


@OF_APT
def test_apt_takes_our_options(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # By the very call that installs, of a package that every Debian has; the simulation changes nothing here.
    monkeypatch.setattr(debian, "missing", lambda _: ["base-files"])
    monkeypatch.setattr(debian, "_lists_are_old", lambda: False)
    monkeypatch.setattr(debian, "_APT", [*debian._APT, "--simulate"])
    debian.install(Step("debian packages"))
    assert " newly installed, 0 to remove" in (own_cache / "logs" / "debian-packages.log").read_text()


@OF_APT
def test_apt_reads_the_lists_again_before_it_fails(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "missing", lambda _: ["tensorplane-no-such-package"])
    monkeypatch.setattr(debian, "_lists_are_old", lambda: False)
    updates: list[Step] = []
    monkeypatch.setattr(debian, "_update", updates.append)
    with pytest.raises(UserError, match="Unable to locate package tensorplane-no-such-package"):
        debian.install(Step("debian packages"))
    assert len(updates) == 1


def test_package_lists_are_read_again_when_absent_or_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "LISTS", tmp_path)
    assert debian._lists_are_old()
    packages = tmp_path / "mirror_dists_stable_main_binary-amd64_Packages.lz4"
    packages.touch()
    assert not debian._lists_are_old()
    old = time.time() - 30 * 24 * 3600
    os.utime(packages, (old, old))
    os.utime(tmp_path, (old, old))
    assert debian._lists_are_old()
