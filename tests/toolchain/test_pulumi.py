"""The three ways to the Pulumi CLI, in their order: PATH, Pulumi's installer, the Go module."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pytest

from tensorplane.core.step import Step
from tensorplane.toolchain import go_module, pulumi, tools
from tensorplane.toolchain.golang import MODULES, Go
from tests.toolchain.stand_in_host import StandInHost
from tests.toolchain.stand_in_program import script


@pytest.fixture
def host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, through_proxy: Callable[[str], None]
) -> Iterator[StandInHost]:
    """Answers for Pulumi's own host, over TLS, through a proxy on this machine."""
    # As in a process that has asked another address before, with another proxy.
    with suppress(OSError):
        urllib.request.urlopen("http://127.0.0.1:0")
    with StandInHost(tmp_path, "get.pulumi.com") as stand_in:
        through_proxy(stand_in.proxy)
        monkeypatch.setenv("SSL_CERT_FILE", str(stand_in.authority))
        yield stand_in


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


def test_pulumis_installer_fills_the_cache_and_nothing_else(
    own_cache: Path,
    only_on_path: Callable[..., Path],
    host: StandInHost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _programs_for_the_installer(only_on_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    host.pages["/install.sh"] = _INSTALLER
    pulumi.obtain(Step("pulumi"))
    found = pulumi.find()
    assert found and own_cache in found.parents
    said = subprocess.run([found, "version"], capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"v{version('pulumi')}"
    assert list((tmp_path / "home").iterdir()) == []
    assert not go_module.pulumi().is_built


@pytest.mark.parametrize("installer", ["#!/bin/sh\necho no release for this platform >&2\nexit 1\n", "#!/bin/sh\n"])
def test_a_failing_installer_leaves_the_go_module(
    own_cache: Path, only_on_path: Callable[..., Path], host: StandInHost, go_built: list[str], installer: str
) -> None:
    _programs_for_the_installer(only_on_path)
    host.pages["/install.sh"] = installer
    pulumi.obtain(Step("pulumi"))
    assert go_built == ["pulumi"]
    assert pulumi.find() is None, "the failed installation left something behind"


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


@pytest.fixture
def go_built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the modules whose build was asked for; the build itself has a test of its own."""
    asked: list[str] = []
    monkeypatch.setattr("tensorplane.toolchain.go_build.build", lambda module, _: asked.append(module.name))
    return asked


# Stands in for Pulumi's installer: takes its arguments, puts a CLI of that version under the root.
_INSTALLER = """#!/bin/sh
test "$1 $2 $4" = "--no-edit-path --install-root --version" || exit 2
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho v%s\\n' "$5" > "$3/bin/pulumi"
chmod +x "$3/bin/pulumi"
"""


def _programs_for_the_installer(only_on_path: Callable[..., Path]) -> None:
    only_on_path(Path("/bin/mkdir"), Path("/bin/chmod"))
