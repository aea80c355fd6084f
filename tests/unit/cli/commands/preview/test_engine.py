"""A preview of a stack that nobody has made leaves no stack behind, on the embedded cluster as in a cloud."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from tensorplane.cli.commands.preview import engine
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_a_stack_that_is_not_there_is_previewed_in_a_state_of_its_own(
    stack: str, made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = "file:///kept"
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.setattr(
        "tensorplane.cli.commands.preview.engine.toolchain.tools", lambda: SimpleNamespace(path=lambda name: Path(name))
    )
    monkeypatch.setattr("tensorplane.driver.target.cluster.is_running", lambda instance: True)
    monkeypatch.setattr(engine, "_compare", lambda settings, target: None)
    monkeypatch.setattr("tensorplane.cli.commands.preview.engine.stand_ins.needed", dict)
    monkeypatch.setattr(
        "tensorplane.cli.commands.preview.engine.stand_ins.on_path", lambda needed, path: nullcontext(path)
    )
    monkeypatch.setattr(StackSettings, "has_stack", lambda *_: made)
    monkeypatch.setattr(Target, "environment", lambda self: {"PULUMI_BACKEND_URL": kept, "PATH": "/bin"})
    monkeypatch.setattr(Target, "api", lambda self: None)
    with engine.opened(stack, "") as opened:
        home = opened.settings.home
        assert (opened.environment["PULUMI_BACKEND_URL"] == kept, opened.stays) == (made, made)
    assert made or not home.exists()
