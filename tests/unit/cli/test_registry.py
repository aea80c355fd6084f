"""Commands are found by being there, and one that runs imports no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane.cli import __main__ as tensorplane
from tensorplane.cli import commands, registry
from tensorplane.cli.commands.preview import order, sections
from tensorplane.core.paths import PROJECT
from tensorplane.version import __version__

PLAIN = """
import click

from tensorplane.cli import options


@click.command("hello")
@options.stack_option
def click_command(stack):
    'Says hello.'
    print(f"hello {stack}")
    return 3
"""


def test_a_file_in_commands_is_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hello.py").write_text(PLAIN)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    assert "hello" in registry.names()
    assert tensorplane.main(["hello", "--stack", "prod"]) == 3
    assert capsys.readouterr().out == "hello prod\n"
    assert tensorplane.main(["--help"]) == 0
    assert "Says hello." in capsys.readouterr().out


def test_every_command_is_described_in_a_line_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert tensorplane.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown.partition("Commands:")[2]
    assert len(shown.partition("Commands:\n")[2].splitlines()) == len(registry.names())


def test_help_and_parsing_import_neither_the_stack_nor_a_client() -> None:
    program = "import sys; from tensorplane.cli import __main__ as m; m.main(['--help']);"
    program += " print(*sys.modules, file=sys.stderr)"
    shown = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    modules = set(shown.stderr.split())
    assert {f"tensorplane.cli.commands.{name}" for name in registry.names()} <= {
        module.rstrip("_") for module in modules
    }
    assert not {"tensorplane.stack", "pulumi", "tensorplane.components", "kubernetes", "rich", "yaml"} & modules


def test_a_command_imports_no_other() -> None:
    program = "import sys; from tensorplane.cli import __main__ as m; m.main(['catalog', '--json']);"
    program += "print(*sys.modules, file=sys.stderr)"
    shown = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    found = {name.split(".")[3] for name in shown.stderr.split() if name.startswith("tensorplane.cli.commands.")}
    assert found == {"catalog"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["chek"], "No such command 'chek'"),
        (["check", "--stak", "dev"], "No such option '--stak'. Did you mean '--stack'?"),
        (["why"], "Missing argument 'JOB'"),
    ],
)
def test_a_usage_that_does_not_exist_is_one_line(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tensorplane.main(words) == 2
    assert expected in capsys.readouterr().err


def test_the_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert tensorplane.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tensorplane {__version__}\n"


def test_the_report_of_a_preview_has_every_section() -> None:
    files = {path.stem for folder in sections.__path__ for path in Path(folder).glob("*.py")}
    for listed in ((*order.HEAD, *order.MARKDOWN), order.TERMINAL):
        assert {str(getattr(section, "__name__", "")).rpartition(".")[2] for section in listed} == files
    for each in (order.HEAD, order.MARKDOWN, order.TERMINAL):
        assert len(each) == len(set(map(id, each)))
    modules = {id(section): section for section in (*order.HEAD, *order.MARKDOWN)}.values()
    assert [m for m in modules if hasattr(m, "head") != (m in order.HEAD)] == []
    assert [m for m in modules if hasattr(m, "markdown") != (m in order.MARKDOWN)] == []
