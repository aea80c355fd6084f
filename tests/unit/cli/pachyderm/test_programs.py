"""Commands of imported stages, run by a shell as a pod would run them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.pachyderm import command, convert, variables
from tensorplane.cli.pachyderm.spec import Spec, Transform
from tensorplane.cli.pachyderm.stage import Choice


def _command(transform: dict[str, Any], glob: str = "/*", source: dict[str, Any] | None = None) -> list[str]:
    read = source or {"pfs": {"repo": "x", "glob": glob}}
    spec = {"pipeline": {"name": "a"}, "transform": transform, "input": read}
    made = convert.convert([Spec.model_validate(spec)], Choice())
    found: list[str] = made.workloads["a"]["stages"]["a"]["command"]
    return found


@pytest.mark.parametrize(
    ("transform", "files", "code", "out"),
    [
        ({"cmd": ["sh"], "stdin": ["cat $x/* > /pfs/out/all", "exit 3"], "acceptReturnCode": [3]}, ["d/a"], 0, "a"),
        ({"cmd": ["sh"], "stdin": ["exit 4"], "acceptReturnCode": [3]}, ["d/a"], 4, None),
        ({"cmd": ["sh", "-c", "exit 3"], "acceptReturnCode": [3, 5]}, ["d/a"], 0, None),
        ({"cmd": ["tee", "/pfs/out/all"], "stdin": ["one 'two'", "$three"]}, ["d/a"], 0, "one 'two'\n$three\n"),
        (
            {"cmd": ["tee", "/pfs/out/all"], "stdin": ["one", "END_OF_STDIN", "END_OF_STDIN_\nmore"]},
            ["d/a"],
            0,
            "one\nEND_OF_STDIN\nEND_OF_STDIN_\nmore\n",
        ),
        (
            {"cmd": ["python3"], "stdin": ["import os", "open('/pfs/out/all', 'w').write(os.environ['x'][-4:])"]},
            ["d/a"],
            0,
            "/x/d",
        ),
        ({"cmd": ["cp", "d/a", "../out/all"], "workingDir": "/pfs/x"}, ["d/a"], 0, "a"),
        ({"cmd": ["sh"], "stdin": ["cat $x/a > /pfs/out/all"]}, [".d/a"], 0, "a"),
        ({"cmd": ["sh"], "stdin": ["exit 1"], "errCmd": ["true"]}, ["d/a"], 1, None),
    ],
)
def test_the_program_runs_as_in_pachyderm(
    transform: dict[str, Any], files: list[str], code: int, out: str | None, tmp_path: Path
) -> None:
    assert _run(_command(transform), files, tmp_path) == (code, out)


@pytest.mark.parametrize(
    ("glob", "file", "works"),
    [
        ("/*.csv", "a.csv", True),
        ("/*.csv", "a.txt", False),
        ("/it's*", "it's 1", True),
        ("/*/*.csv", "d/a.csv", True),
        ("/*/*.csv", "a.csv", False),
        ("/(*)-[0-9].csv", "x-7.csv", True),
        ("/*/", "d/a", True),
        ("/*/", "a", True),
    ],
)
def test_a_part_that_does_not_match_the_glob_is_not_worked_on(
    glob: str, file: str, works: bool, tmp_path: Path
) -> None:
    program = _command({"cmd": ["sh"], "stdin": ["echo done > /pfs/out/all"]}, glob)
    assert _run(program, [file], tmp_path) == (0, "done\n" if works else None)


@pytest.mark.parametrize(
    ("transform", "code", "out"),
    [
        ({"cmd": ["sh"], "stdin": ["echo 1 > /pfs/out/all; echo 2 > /pfs/out/.more; exit 1"]}, 0, None),
        ({"cmd": ["sh", "-c", "echo 1 > /pfs/out/all; exit 1"]}, 0, None),
        ({"cmd": ["sh", "-c", "echo 1 > /pfs/out/all; exit 3"], "acceptReturnCode": [3]}, 0, "1\n"),
        ({"cmd": ["sh", "-c", "echo 1 > /pfs/out/all"]}, 0, "1\n"),
    ],
)
def test_the_only_part_may_fail_and_has_no_result_then(
    transform: dict[str, Any], code: int, out: str | None, tmp_path: Path
) -> None:
    program = _command({**transform, "errCmd": ["true"]}, "/")
    assert _run(program, ["a"], tmp_path) == (code, out)
    assert out or not [*(tmp_path / "out").iterdir()]


@pytest.mark.parametrize(("file", "works"), [("d/a", True), (".d/a", True), ("a", False)])
def test_a_group_of_folders_is_not_worked_on_for_files_at_the_top(file: str, works: bool, tmp_path: Path) -> None:
    grouped = {"group": [{"pfs": {"repo": "x", "glob": "/(*)/*", "groupBy": "$1"}}]}
    program = _command({"cmd": ["sh"], "stdin": ["echo done > /pfs/out/all"]}, source=grouped)
    assert _run(program, [file], tmp_path) == (0, "done\n" if works else None)


def test_the_variable_of_an_input_with_a_literal_glob_has_the_path_of_the_file(tmp_path: Path) -> None:
    program = _command({"cmd": ["sh"], "stdin": ["cat $x > /pfs/out/all"]}, "/a.csv")
    assert _run(program, ["a.csv", "b.csv"], tmp_path) == (0, "a.csv")


@pytest.mark.parametrize("overwrite", [True, False])
def test_the_variable_of_a_clock_has_the_path_of_its_tick(overwrite: bool, tmp_path: Path) -> None:
    clock = {"cron": {"name": "x", "spec": "@daily", "overwrite": overwrite}}
    program = _command({"cmd": ["sh"], "stdin": ["cat $x > /pfs/out/all"]}, source=clock)
    assert _run(program, ["2026-01-02T00:00:00Z"], tmp_path) == (0, "2026-01-02T00:00:00Z")


def _run(program: list[str], files: list[str], tmp_path: Path) -> tuple[int, str | None]:
    """Run a command on a part with these files: its exit code, and what it wrote."""
    (tmp_path / "out").mkdir()
    for file in files:
        (tmp_path / "x" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "x" / file).write_text(file.rpartition("/")[2])
    words = [word.replace("/pfs", f"{tmp_path}") for word in program]
    done = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL)
    written = tmp_path / "out" / "all"
    return done.returncode, written.read_text() if written.exists() else None


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("ls $x", True),
        ("ls ${x%/}/a", True),
        ("ls $xy", False),
        ("ls $x_COMMIT", False),
        ('os.environ["x"]', True),
        ("os.environ.get( 'x', '')", True),
        ("os.getenv('x')", True),
        ("os.environ['xy']", False),
        ("config['x']", False),
        ('ENV.fetch("x")', True),
        ("ENV['x']", True),
        ("process.env.x", True),
        ("process.env['x']", True),
        ("process.env.xy", False),
        ('os.Getenv("x")', True),
        ('std::env::var("x")', True),
        ('System.getenv("x")', True),
        ("Sys.getenv('x')", True),
    ],
)
def test_the_variable_of_an_input_is_found_as_each_language_reads_it(text: str, reads: bool) -> None:
    assert variables.reads(text, "x") == reads


def test_a_shell_that_reads_its_program_gets_it_as_an_argument() -> None:
    assert command.command(Transform(cmd=["/bin/bash"], stdin=["a", "b"]), [], split=True) == [
        "/bin/bash",
        "-c",
        "a\nb",
    ]
    assert command.command(Transform(cmd=["a", "b"]), [], split=True) == ["a", "b"]
    assert command.command(Transform(), [], split=True) is None
