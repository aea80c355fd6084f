import sys

import pytest

from tensorplane.cli import start


def test_an_older_python_is_told_what_the_command_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    assert start.main() == 1
    assert (
        capsys.readouterr().err
        == "tensorplane: needs Python 3.11 or newer, and this is 3.9; install it with a newer one\n"
    )


def test_the_command_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tensorplane", "--version"])
    assert start.main() == 0
    assert capsys.readouterr().out.startswith("tensorplane ")
