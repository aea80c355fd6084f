"""The three ways to the Pulumi CLI, in their order: PATH, Pulumi's release, the Go module."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplane.core.step import Step
from tensorplane.toolchain import go_module, pulumi, releases, tools
from tensorplane.toolchain.golang import MODULES, Go
from tests.toolchain.stand_in_host import StandInHost
from tests.toolchain.stand_in_program import script, tar
from tests.toolchain.stand_in_releases import pin


def test_the_users_own_pulumi_is_used(own_cache: Path, only_on_path: Callable[..., Path], tmp_path: Path) -> None:
    folder = only_on_path(script(tmp_path / "pulumi", "echo v3.999.1"))
    assert pulumi.find() == folder / "pulumi"
    pulumi.obtain(Step("pulumi"))
    assert tools().path("pulumi") == folder / "pulumi"
    assert not (own_cache / "tools").exists()


@pytest.mark.parametrize("said", ["echo v3.100.0", "echo", "exit 1"])
def test_a_pulumi_too_old_or_broken_is_passed_over(
    own_cache: Path, only_on_path: Callable[..., Path], tmp_path: Path, said: str
) -> None:
    only_on_path(script(tmp_path / "pulumi", said))
    assert pulumi.find() is None


def test_the_environments_own_link_is_not_the_users(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    script(tmp_path / "venv" / "bin" / "pulumi", "echo v3.999.1")
    monkeypatch.setenv("PATH", str(tmp_path / "venv" / "bin"))
    monkeypatch.setattr("tensorplane.toolchain.tool_folders._SYSTEM", ())
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    assert pulumi.find() is None


def test_pulumis_release_comes_through_the_proxy_with_its_language_host(
    own_cache: Path,
    only_on_path: Callable[..., Path],
    through_proxy: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only_on_path()
    monkeypatch.delenv(releases.SWITCH)
    archive = tar(
        {f"pulumi/{name}": f"#!/bin/sh\necho {name}" for name in ("pulumi", "pulumi-language-python", "pulumi-watch")}
    )
    pin(
        monkeypatch,
        tmp_path,
        "pulumi",
        "https://github.com/releases/pulumi.tar.gz",
        archive,
        "pulumi",
        "pulumi-*python*",
    )
    with StandInHost(tmp_path, "github.com") as host:
        through_proxy(host.proxy)
        monkeypatch.setenv("SSL_CERT_FILE", str(host.authority))
        host.pages["/releases/pulumi.tar.gz"] = archive
        pulumi.obtain(Step("pulumi"))
    found = pulumi.find()
    assert found == go_module.pulumi().path("pulumi")
    assert {path.name for path in found.parent.iterdir()} == {"pulumi", "pulumi-language-python"}
    assert subprocess.run([found], capture_output=True, text=True, check=True).stdout == "pulumi\n"


@pytest.mark.nightly("`make test` begins with this where Pulumi's releases are out of reach")
def test_out_of_reach_the_cli_is_built_from_its_go_module(
    own_cache: Path, only_on_path: Callable[..., Path], go: Go, unreachable: None
) -> None:
    only_on_path(go.program)
    pulumi.obtain(Step("pulumi"))
    found = pulumi.find()
    assert found == go_module.pulumi().path("pulumi")
    said = subprocess.run([found, "version"], capture_output=True, text=True, check=True).stdout.strip()
    assert said == go_module.required(MODULES / "tools", "github.com/pulumi/pulumi/pkg/v3")
