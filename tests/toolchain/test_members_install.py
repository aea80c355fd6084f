"""What members of teams install: small, and each of their commands works with it, on every system.

The paths end to end of members (tests/e2e/paths) run in this environment, too, against a real cluster.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support import installed

MEGABYTES = 40
PROGRAM = """
import importlib, pkgutil, sys
from tensorplane.cli import commands

for one in pkgutil.iter_modules(commands.__path__, f"{commands.__name__}."):
    if one.name.rpartition(".")[2] not in sys.argv[1:]:
        package = importlib.import_module(one.name)
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
            importlib.import_module(module.name)
"""
OWNERS = (
    "catalog",
    "drift",
    "image",
    "import_",
    "kops",
    "load",
    "preview",
    "settings",
    "unlock",
    "up",
    "upgrade",
    "volumes",
)
"""The commands of who owns a platform. All others work with what members install."""


@pytest.fixture(scope="module")
def python(wheel_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed.install(wheel_file, tmp_path_factory.mktemp("member") / "environment")


def test_every_command_of_members_can_be_imported_without_what_only_owners_have(python: Path, tmp_path: Path) -> None:
    subprocess.run([str(python), "-c", PROGRAM, *OWNERS], cwd=tmp_path, check=True)
    there = {each.name.partition("-")[0] for each in installed.packages(python.parents[1]).glob("*.dist-info")}
    assert there.isdisjoint({"pulumi", "kubernetes", "tensorflow", "grpcio", "numpy", "hera"})


def test_it_checks_a_stack_in_a_folder_with_a_space(python: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "my project").mkdir()
    (folder / "Pulumi.dev.yaml").write_text("config:\n  tensorplane:queues: {research: {cpus: 2, memoryGib: 4}}\n")
    argv = [str(python.with_name("tensorplane")), "tiers", "--json"]
    shown = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert [each["name"] for each in json.loads(shown)["queues"]] == ["research"]


def test_it_is_small(python: Path) -> None:
    files = (file for file in installed.packages(python.parents[1]).rglob("*") if file.suffix != ".pyc")
    assert sum(file.stat().st_size for file in files if file.is_file()) < MEGABYTES * 1e6
