"""The wheel: it holds this checkout's packages and nothing else, and asks for what this checkout is tested with."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import tensorplane
from tensorplane.core.paths import PACKAGE, PROJECT
from tensorplane.workloads.pods import pod, sources

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;]+)", re.MULTILINE)
_PINNED = (
    "images/requirements/training.txt",
    "requirements.txt",
    "core/requirements.txt",
    "requirements-aks.txt",
    "images/requirements/streams.txt",
)


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(wheel_file)


def test_it_has_every_file_of_the_packages(wheel: zipfile.ZipFile) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()
    links = {path.name: path.resolve().relative_to(PROJECT) for path in PACKAGE.iterdir() if path.is_symlink()}
    expected = {
        f"tensorplane/{Path(name, Path(file).relative_to(folder))}"
        for name, folder in links.items()
        for file in listed
        if Path(file).is_relative_to(folder)
    }
    expected |= {file.removeprefix("runtime/") for file in listed if file.startswith("runtime/tensorplane/")}
    expected -= {f"tensorplane/{name}" for name in links}
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == expected


def test_its_metadata_names_the_version_and_the_extras(wheel: zipfile.ZipFile) -> None:
    found = wheel.read(f"tensorplane-{tensorplane.__version__}.dist-info/METADATA").decode()
    metadata = message_from_string(found)
    assert (metadata["Name"], metadata["Version"]) == ("tensorplane", tensorplane.__version__)
    assert metadata["Requires-Python"] == ">=3.9"
    extras = {"platform", "eks", "gke", "aks", "dev", "train", "streams"}
    assert set(metadata.get_all("Provides-Extra", [])) == extras


def test_what_it_asks_for_includes_the_pins_of_this_checkout() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for each in project["optional-dependencies"].values() for line in each)]
    # pip is that of the environment.
    required = {
        each.name: each.specifier for each in map(Requirement, lines) if each.name not in ("pip", "tensorplane")
    }
    pins = dict(pin for file in _PINNED for pin in _PIN.findall((PROJECT / file).read_text()))
    assert {name: pins[name] for name, allowed in required.items() if not allowed.contains(pins[name])} == {}


def test_the_library_that_a_pod_mounts_hides_the_wheel_of_its_image(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """As a whole: no module of the image's version is imported beside those of the mounted one."""
    image, mounted = tmp_path / "site-packages", tmp_path / "tensorplane.zip"
    wheel.extractall(image)
    (image / "tensorplane" / "version.py").write_text('__version__ = "99"\n')
    mounted.write_bytes(sources.library()[pod.ARCHIVE])
    program = "import tensorplane as t, tensorplane.datasets as d; print(t.__version__, t.__path__ + d.__path__)"
    shown = _python(program, f"{mounted}:{image}")
    assert shown == f"{tensorplane.__version__} ['{mounted}/tensorplane', '{mounted}/tensorplane/datasets']"
    assert _python("import tensorplane; print(tensorplane.__version__)", str(image)) == "99"


def test_a_project_of_its_own_needs_no_file_of_this_checkout(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    installed, project = tmp_path / "site-packages", tmp_path / "of a team" / "vision"
    wheel.extractall(installed)

    def tensorplane(*words: str, folder: Path = project) -> str:
        argv = [sys.executable, "-P", "-m", "tensorplane.cli", *words]
        environment = {**os.environ, "PYTHONPATH": str(installed), "XDG_STATE_HOME": str(tmp_path)}
        done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    tensorplane("new", "of a team/vision", folder=tmp_path)
    assert tensorplane("check", "--no-machine") == "Pulumi.dev.yaml: no mistakes found\n"
    assert tensorplane("policies") == f"{installed}/tensorplane/policies\n"
    assert tensorplane("status") == "The embedded cluster `dev` is stopped; start it with: tensorplane up\n"
    lacks = r"tensorplane\[eks\]: pulumi-aws is missing or has another version; run: pip install 'tensorplane\[eks\]'"
    (metadata,) = installed.glob("*.dist-info/METADATA")
    metadata.write_text(metadata.read_text().replace("pulumi-aws<8", "pulumi-aws<1"))
    (project / "Pulumi.prod.yaml").write_text("config:\n  tensorplane:cluster: {kind: eks, region: us-west-2}\n")
    assert re.fullmatch(lacks, tensorplane("up", "--stack", "prod").strip())


def _python(program: str, path: str) -> str:
    argv = [sys.executable, "-S", "-c", program]
    return subprocess.run(argv, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True).stdout.strip()
