"""A stand-in serves where Pulumi's plugin or the credentials are missing, for as long as one preview lasts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from embedded.hosts import plugins, stand_ins
from embedded.hosts.stand_ins import CLOUDS, Cloud

CLOUD = {cloud.package: cloud for cloud in CLOUDS}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a machine without plugins and credentials."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    return {"HOME": str(tmp_path)}


def _install(tmp_path: Path, package: str) -> None:
    (tmp_path / "pulumi" / "plugins" / f"resource-{package}-v1.0.0").mkdir(parents=True)


def test_without_plugins_every_cloud_has_one(machine: dict[str, str]) -> None:
    assert stand_ins.needed(machine) == dict.fromkeys(CLOUD, "Pulumi's plugin is not installed")


def test_a_plugin_without_credentials_is_stood_in_for(machine: dict[str, str], tmp_path: Path) -> None:
    _install(tmp_path, "gcp")
    assert stand_ins.needed(machine)["gcp"] == "there are no credentials"


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.package)
def test_the_real_one_serves_where_it_can(cloud: Cloud, machine: dict[str, str], tmp_path: Path) -> None:
    _install(tmp_path, cloud.package)
    for variable in cloud.variables:
        assert cloud.package not in stand_ins.needed({**machine, variable: "given"})
    assert cloud.package in stand_ins.needed(machine)
    for _, place, file in cloud.files:
        credentials = tmp_path / place / file
        credentials.parent.mkdir(parents=True, exist_ok=True)
        credentials.write_text("")
    assert cloud.package not in stand_ins.needed(machine)


def test_a_variable_may_name_the_file_itself(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    assert CLOUD["aws"].has_credentials({**machine, "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "mine")})


def test_launchers_pass_with_the_preview() -> None:
    with stand_ins.on_path(["aws", "azure-native"], os.environ["PATH"]) as path:
        found = [shutil.which(f"pulumi-resource-{package}", path=path) for package in ("aws", "azure-native")]
        assert all(launcher and plugins.is_ours(Path(launcher)) for launcher in found)
        assert shutil.which("pulumi-resource-aws") is None, "the PATH of everything else has none"
    assert not any(launcher and Path(launcher).exists() for launcher in found)
