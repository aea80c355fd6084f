"""Messages name the commands that the reader has: goals of the Makefile in a checkout, `tensorplane` elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.core import command_lines, paths


def test_in_a_checkout_they_are_goals_of_the_makefile() -> None:
    assert paths.is_checkout()
    assert command_lines.deploy() == "make up"
    assert command_lines.deploy_as_root() == "sudo make up"
    assert command_lines.of_stack("preview", "prod", "kind-dev") == "make preview STACK=prod CONTEXT=kind-dev"
    assert command_lines.repair("prod") == "make up STACK=prod REFRESH=1"


def test_in_a_project_of_the_users_they_are_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "PROJECT", tmp_path)
    (tmp_path / "Makefile").write_text("up:\n")
    assert command_lines.deploy() == "tensorplane up"
    monkeypatch.setattr("sys.prefix", "/home/me/my env")
    assert command_lines.deploy_as_root() == "sudo '/home/me/my env/bin/tensorplane' up"
    assert (
        command_lines.of_stack("preview", "prod", "kind-dev") == "tensorplane preview --stack prod --context kind-dev"
    )
    assert command_lines.repair("prod") == "tensorplane up --stack prod --refresh"
