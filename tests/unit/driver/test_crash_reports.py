"""What nobody foresaw ends a command with one line and the place of a log, and never with a traceback."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tensorplane.cli import __main__ as tensorplane
from tensorplane.cli import registry
from tensorplane.cli.commands.preview import events
from tensorplane.core.paths import PROJECT, cache
from tensorplane.driver import crash_reports


class Odd(Exception):
    """An exception that nothing knows; its text may be secret."""


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return cache() / "logs"


def _fails(*_: object, **__: object) -> Any:
    raise Odd("hunter2")


def _is_told(said: str, command: str, log: Path) -> None:
    remedy = f"report it with its log, {log}"
    assert said == f"{command}: stopped by an unforeseen Odd; {remedy}\n"
    assert log.stat().st_mode & 0o777 == 0o600
    text = log.read_text()
    assert crash_reports.TRACEBACK in text
    assert "in _fails" in text
    assert command in text.splitlines()[0]


def _leaves(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _leaves(inner, (*words, name))
    else:
        yield words, command


def _arguments(command: click.Command) -> Iterator[str]:
    """What a command does not parse without."""
    for each in command.params:
        if each.required:
            flags = each.opts[-1:] if isinstance(each, click.Option) else []
            kind = each.type
            value = kind.choices[0] if isinstance(kind, click.Choice) else "1"
            yield from [*flags, str(value)]


COMMANDS = [each for name in registry.names() for each in _leaves(registry.load(name), (name,))]


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_every_command_of_tensorplane(
    words: tuple[str, ...],
    command: click.Command,
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "callback", _fails)
    assert tensorplane.main([*words, *_arguments(command)]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    _is_told(error, f"tensorplane {words[0]}", logs / f"fault-tensorplane-{words[0]}.log")


def test_a_command_that_cannot_be_imported_or_listed(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "load", _fails)
    assert tensorplane.main(["check"]) == 1
    _is_told(capsys.readouterr().err, "tensorplane check", logs / "fault-tensorplane-check.log")
    assert tensorplane.main(["--help"]) == 1
    _is_told(capsys.readouterr().err, "tensorplane", logs / "fault-tensorplane.log")


@pytest.mark.parametrize(
    ("name", "work"),
    [("up", "up.up"), ("down", "teardown.down"), ("purge", "teardown.purge"), ("tools", "tools.prepare")],
)
def test_a_command_that_hears_ctrl_c_by_itself_is_told_once(
    name: str, work: str, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(f"tensorplane.driver.{work}", _fails)
    assert tensorplane.main([name]) == 1
    _is_told(capsys.readouterr().err, f"tensorplane {name}", logs / f"fault-tensorplane-{name}.log")


def test_a_thread_is_told_like_the_command() -> None:
    program = "from tensorplane.driver import crash_reports; import threading\n"
    program += "crash_reports.report_threads('tensorplane logs')\n"
    program += "one = threading.Thread(target=lambda: {}['hunter2']); one.start(); one.join()"
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    log = cache() / "logs/fault-tensorplane-logs.log"
    assert done.stderr == (f"tensorplane logs: stopped by an unforeseen KeyError; report it with its log, {log}\n")
    assert "hunter2" in log.read_text()


def test_a_log_that_cannot_be_written_leaves_the_place(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.parent.mkdir(parents=True)
    logs.write_text("a file")
    try:
        registry.load("\udcff")
    except Exception as error:
        said = crash_reports.report("tensorplane check", error)
    assert re.fullmatch(
        r"tensorplane check: stopped by an unforeseen \w+; report it with its place, cli/registry\.py:\d+: "
        rf"its log, {re.escape(str(logs))}/fault-tensorplane-check\.log, cannot be written \([^()]+\)",
        said,
    )


_CHAIN = f"""\
{crash_reports.TRACEBACK}
  File "/here/stack/loading.py", line 3, in load
    settings = read()
               ^^^^^^
KeyError: 'a'

During handling of the above exception, another exception occurred:

{crash_reports.TRACEBACK}
  File "/here/__main__.py", line 12, in <module>
    stack.build(stack.load())
pydantic_core._pydantic_core.ValidationError: 2 errors
  a: wrong
"""


@pytest.mark.parametrize("heading", [[], ["error: Program failed with an unhandled exception:"]])
def test_the_traceback_of_a_stacks_program_is_one_line_in_its_place(heading: list[str]) -> None:
    traceback = [line for line in [*heading, *_CHAIN.splitlines()] if line]
    lines = ["  Stack (dev):", *(f"    {line}" for line in traceback), "  Volume (models):", "    error: taken"]
    assert crash_reports.fold_traceback(lines, "report it with this log") == [
        "  Stack (dev):",
        "    the stack's program was stopped by an unforeseen ValidationError: 2 errors; report it with this log",
        "  Volume (models):",
        "    error: taken",
    ]
    assert crash_reports.fold_traceback(lines[-2:], "") == lines[-2:]


def test_a_preview_names_the_log_of_a_program_that_crashed(logs: Path) -> None:
    event = {"diagnosticEvent": {"severity": "error", "urn": "", "message": _CHAIN}}
    (fault,) = events.report("dev", [event], failed=True, stand_ins={}).errors
    log = logs / "fault-tensorplane-preview.log"
    said = "the stack's program was stopped by an unforeseen ValidationError: 2 errors"
    assert fault == f"{said}; report it with its log, {log}"
    assert _CHAIN.strip() in log.read_text()
