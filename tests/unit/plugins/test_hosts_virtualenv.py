"""Which provider plugins an environment's Pulumi SDKs need, and in which version."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path

import pytest

from tensorplane.plugins.hosts.virtualenv import Interpreter


@pytest.fixture(name="environment")
def an_environment(tmp_path: Path) -> Interpreter:
    venv.create(tmp_path, with_pip=False)
    return Interpreter(tmp_path / "bin" / "python", tmp_path)


def install(environment: Interpreter, package: str, version: str, plugin: dict[str, object]) -> None:
    """As pip installs an SDK."""
    home = environment.home
    assert home
    site = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    about = site / f"{package}-{version}.dist-info"
    for folder in (site / package, about):
        folder.mkdir()
    (site / package / "pulumi-plugin.json").write_text(json.dumps(plugin))
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (about / "top_level.txt").write_text(f"{package}\n")


def test_a_plugin_has_its_own_version_or_that_of_its_sdk(environment: Interpreter) -> None:
    install(environment, "pulumi_one", "1.0.0", {"resource": True, "name": "one", "version": "1.2.3"})
    install(environment, "pulumi_two", "2.0.0", {"resource": True, "name": "two"})
    assert {plugin["name"]: plugin["version"] for plugin in environment.plugins()} == {"one": "1.2.3", "two": "2.0.0"}


def test_a_package_without_a_plugin_needs_none(environment: Interpreter) -> None:
    install(environment, "pulumi_policies", "1.0.0", {"resource": False, "name": "policies", "version": "1.0.0"})
    assert environment.plugins() == []
