"""Builds of Go modules: named by content, whole or absent, verified."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain import go_build, go_module
from tensorplane.toolchain.go_module import GoModule
from tensorplane.toolchain.golang import Go
from tests.support.waiting import PATIENT_SECONDS, eventually
from tests.toolchain.stand_in_program import script


def test_a_build_reports_how_far_it_is(own_cache: Path, tiny: GoModule, tmp_path: Path) -> None:
    # Then the standard library's packages are in Go's build cache.
    shutil.copytree(tiny.source, tmp_path / "before")
    with (tmp_path / "before" / "hello" / "main.go").open("a") as main:
        main.write("// another one\n")
    go_build.build(replace(tiny, source=tmp_path / "before"), Step("before"))
    step = Step("tiny")
    go_build.build(tiny, step)
    note, done, total = step.state()
    assert tiny.is_built and tiny.path("hello").exists()
    assert note == "compiling tensorplane.dev/tests/tiny/hello"
    assert 0 < done <= total < 10


def test_a_built_module_is_not_built_again(own_cache: Path, tiny: GoModule) -> None:
    go_build.build(tiny, Step("tiny"))
    before = tiny.path("hello").stat().st_mtime_ns
    go_build.build(tiny, Step("tiny"))
    assert tiny.path("hello").stat().st_mtime_ns == before


def test_every_input_changes_the_folder_and_nothing_else_does(own_cache: Path, tiny: GoModule) -> None:
    def folder() -> str:
        return replace(tiny).folder.name

    seen = {folder()}
    (tiny.source / "README.md").write_text("not compiled")
    assert {folder()} == seen
    for name, text in (("go.mod", "// more\n"), ("go.sum", "\n"), ("hello/main.go", "\n")):
        path = tiny.source / name
        path.write_text(path.read_text() + text)
        assert folder() not in seen, name
        seen.add(folder())
    (tiny.source / "chart").mkdir()
    (tiny.source / "chart" / "Chart.yaml").write_text("name: tiny\n")
    assert folder() not in seen
    seen.add(folder())
    assert replace(tiny, manifests={"example.org/tiny": ("config/*.yaml",)}).folder.name not in seen
    assert replace(tiny, flags=("-tags=x",)).folder.name not in seen
    assert replace(tiny, versions=("main.name=y",)).folder.name not in seen


def test_linker_versions_reach_the_program(own_cache: Path, tiny: GoModule) -> None:
    main = tiny.source / "hello" / "main.go"
    main.write_text(main.read_text().replace("const name", "var name"))
    built = replace(tiny, versions=("main.name=v1.2.3",))
    go_build.build(built, Step("tiny"))
    assert subprocess.run([built.path("hello")], capture_output=True, text=True).stdout == "built by v1.2.3\n"


def test_a_copy_of_a_module_has_the_files_that_its_archive_lacks(
    own_cache: Path, tiny: GoModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = tmp_path / "upstream"
    shutil.copytree(tiny.source, upstream)
    main = upstream / "hello" / "main.go"
    embedding = 'import _ "embed"\nimport "fmt"\n\n//go:embed page.html\nvar page string\n'
    main.write_text(main.read_text().replace('import "fmt"', embedding))

    def of_upstream(argv: list[str | Path], **given: Any) -> str:
        return str(upstream) if "-f={{.Dir}}" in argv else command(argv, **given)

    monkeypatch.setattr(go_build, "command", of_upstream)
    page = tiny.source / "added" / "hello" / "page.html"
    page.parent.mkdir(parents=True)
    page.touch()
    module = replace(tiny, copied="tensorplane.dev/tests/tiny")
    go_build.build(module, Step("tiny"))
    assert module.path("hello").exists()
    assert {path.name for path in module.folder.iterdir()} == {"bin"}, "the copy is gone"
    assert not (upstream / "hello" / "page.html").exists()


def test_a_compile_error_is_reported_and_leaves_nothing(own_cache: Path, tiny: GoModule) -> None:
    (tiny.source / "hello" / "main.go").write_text("package main\n\nfunc main() { undefined() }\n")
    with pytest.raises(UserError, match="undefined: undefined"):
        go_build.build(tiny, Step("tiny"))
    # Without Go on PATH, the folder of the one that is installed is there, too.
    names = [path.name for path in (own_cache / "tools").iterdir() if path.is_dir()]
    assert [name for name in names if not name.startswith("go-")] == []


_BUILD = """
import sys
from pathlib import Path
from tensorplane.core.step import Step
from tensorplane.toolchain import go_build
from tensorplane.toolchain.go_module import GoModule
go_build.build(GoModule("tiny", Path(sys.argv[1]), only=("./hello",)), Step("tiny"))
"""


def test_a_build_killed_half_way_is_done_again(own_cache: Path, tiny: GoModule, tmp_path: Path, go: Go) -> None:
    draft = tiny.folder.with_name(f".{tiny.folder.name}.draft")
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "bin").mkdir()
    # It stops where it would compile, because nobody opens the gate.
    waits = f'[ "$1" = build ] && [ "$2" != -n ] && touch {begun} && read line <{gate}'
    script(tmp_path / "bin" / "go", f'{waits}\nexec {go.program} "$@"')
    stopping = {**os.environ, "PATH": os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])}
    build = subprocess.Popen([sys.executable, "-c", _BUILD, str(tiny.source)], cwd=PROJECT, env=stopping)
    eventually(begun.exists)
    build.send_signal(signal.SIGKILL)
    build.wait()
    assert draft.exists() and not tiny.is_built
    eventually(lambda: not _runs_below(tmp_path))

    go_build.build(tiny, Step("tiny"))
    assert not draft.exists()
    assert subprocess.run([tiny.path("hello")], capture_output=True, text=True).stdout == "built by the test\n"


def test_two_runs_at_once_build_once(own_cache: Path, tiny: GoModule) -> None:
    argv = [sys.executable, "-c", _BUILD, str(tiny.source)]
    runs = [subprocess.Popen(argv, cwd=PROJECT, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [run.communicate(timeout=PATIENT_SECONDS)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], errors
    log = (own_cache / "logs" / "tiny.log").read_text()
    assert log.count("build -v") == 1


def test_a_module_that_differs_from_its_recorded_checksum_is_refused(own_cache: Path, tmp_path: Path, go: Go) -> None:
    source = tmp_path / "containerd"
    shutil.copytree(go_module.containerd().source, source)
    sums = source / "go.sum"
    lines = sums.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("github.com/containerd/containerd/v2 "))
    lines[at] = lines[at][:-3] + ("A" if lines[at][-3] != "A" else "B") + lines[at][-2:]
    sums.write_text("\n".join(lines) + "\n")
    module = replace(go_module.containerd(), source=source)
    with pytest.raises(UserError, match="recorded checksum"):
        go_build.build(module, Step("containerd"))
    assert not module.is_built


def test_a_module_that_go_sum_does_not_know_is_refused(own_cache: Path, tiny: GoModule) -> None:
    mod = tiny.source / "go.mod"
    mod.write_text(mod.read_text() + "\nrequire github.com/google/uuid v1.6.0\n")
    main = tiny.source / "hello" / "main.go"
    main.write_text(main.read_text().replace('import "fmt"', 'import "fmt"\nimport _ "github.com/google/uuid"'))
    with pytest.raises(UserError, match=r"missing go\.sum entry"):
        go_build.build(tiny, Step("tiny"))


def test_without_network_one_line_says_what_to_do(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unreachable: None
) -> None:
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    with pytest.raises(UserError) as caught:
        go_build.build(go_module.containerd(), Step("containerd"))
    (line,) = caught.value.lines
    # Without Go on PATH, pip fails to install it.
    assert re.match(r"containerd: (go list|python -m) failed: no network, ", line)


def test_the_modules_name_their_programs_and_versions() -> None:
    kubernetes = go_module.kubernetes()
    assert {"kubelet", "kube-apiserver", "etcd", "coredns", "helm", "kueue", "jobset"} <= set(kubernetes.programs)
    version = go_module.required(kubernetes.source, "k8s.io/kubernetes")
    assert f"k8s.io/component-base/version.gitVersion={version}" in kubernetes.versions
    assert go_module.containerd().programs == ["containerd", "containerd-shim-runc-v2", "ctr"]
    assert go_module.pulumi().programs == ["pulumi"]


def _runs_below(folder: Path) -> bool:
    """Whether a process still names a path of this test on its command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:
            continue
    return any(str(folder).encode() in line for line in found if b"pytest" not in line)
