"""Commands are found by being there, and one that runs imports no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli import __main__ as tensorplane
from cli import commands, registry
from cli.commands.preview import order, sections
from embedded.paths import PROJECT

PLAIN = """
from cli.command import Command, add_stack


def _run(args):
    print(f"hello {args.stack}")
    return 3


COMMAND = Command("says hello", add_stack, _run)
"""


def test_a_file_in_commands_is_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hello.py").write_text(PLAIN)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    monkeypatch.setattr(sys, "argv", ["tensorplane", "hello", "--stack", "prod"])
    assert "hello" in registry.names()
    assert tensorplane.main() == 3
    assert capsys.readouterr().out == "hello prod\n"
    assert "says hello" in tensorplane.parser(registry.names()).format_help()


def test_help_and_parsing_import_neither_the_stack_nor_a_client() -> None:
    program = "import sys; from cli import __main__ as m, registry; m.parser(registry.names()); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    modules = set(shown.stdout.split())
    assert {f"cli.commands.{name}" for name in registry.names()} <= modules
    assert not {"stack", "pulumi", "components", "kubernetes", "rich", "yaml"} & modules


def test_a_command_imports_no_other() -> None:
    program = "import sys; from cli import __main__ as m; sys.argv = ['', 'catalog', '--json']; m.main();"
    program += "print(*sys.modules, file=sys.stderr)"
    shown = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    found = {name.split(".")[2] for name in shown.stderr.split() if name.startswith("cli.commands.")}
    assert found == {"catalog"}


def test_the_report_of_a_preview_has_every_section() -> None:
    files = {path.stem for folder in sections.__path__ for path in Path(folder).glob("*.py")}
    for listed in (order.MARKDOWN, order.TERMINAL):
        assert {str(getattr(section, "__name__", "")).rpartition(".")[2] for section in listed} == files
        assert len(listed) == len(files)
