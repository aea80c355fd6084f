"""Faults about hostile names and broken kubeconfigs are one line each, which a terminal obeys in no part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.cli import __main__ as tensorplane
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver import exit_codes


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2Ja", "\u202eevil", "a\rb", "\u2028", "\udcff", "\x00"])
def test_a_line_about_a_hostile_name_shows_its_characters(name: str) -> None:
    (line,) = exit_codes.error_lines("tensorplane x", UserError(f"{name}: no dataset has this name; choose one of raw"))
    assert line == f"{repr(name)[1:-1]}: no dataset has this name; choose one of raw"
    assert line.isprintable()


def test_a_line_about_an_endless_name_can_be_read() -> None:
    (line,) = exit_codes.error_lines(
        "tensorplane x", UserError(f"{'x' * 5000}: no dataset has this name; choose one of raw")
    )
    assert line == f"{'x' * 1000}… no dataset has this name; choose one of raw"


@pytest.mark.parametrize("stack", ["", "a\nb", "\x1b[2J", "x" * 5000, "../dev", "/etc/passwd", "a b"])
def test_a_stack_of_any_name_that_does_not_exist_is_one_line(stack: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tensorplane.main(["check", "--stack", stack]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert len(line) < 1300


@pytest.mark.parametrize(
    "content",
    [
        "apiVersion: v1\n{{{\n",
        "- a\n- b\n",
        "5\n",
        "",
        "clusters: 5\ncontexts: [{name: down, context: 7}]\ncurrent-context: [x]\n",
        "contexts: [{name: down}]\ncurrent-context: down\n",
        "current-context: nowhere\ncontexts: []\nclusters: []\nusers: []\n",
    ],
)
@pytest.mark.parametrize("context", [None, "down"])
def test_a_file_that_is_no_kubeconfig_is_one_line_with_its_path(
    content: str, context: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content)
    with pytest.raises(UserError) as raised:
        Kube.of(file, context)
    (line,) = exit_codes.error_lines("tensorplane jobs", raised.value)
    assert line.startswith(f"kubeconfig {file}, {f'context {context}' if context else 'its current context'}: ")
    assert line.endswith("; compare it with: kubectl config get-contexts")
