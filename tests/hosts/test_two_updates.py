"""What the real engine refuses, as a person reads it: a stack that is being updated, a resource that is protected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update import locks
from tensorplane.driver.update.stack import Stack
from tests.hosts.engine import Engine, Project
from tests.support.waiting import eventually

_SLOW = "import time\ntime.sleep(100000)\n"
_VOLUME = """
    import pulumi
    opts = pulumi.ResourceOptions(protect=True)
    pulumi.ComponentResource("tensorplane:index:Volume", "models", {}, opts)
"""


def _stack(project: Project) -> Stack:
    programs, _, _ = project.environment["PATH"].partition(":")
    settings = StackSettings("dev", project.folder.with_name(f"{project.folder.name}-home"), project.folder)
    (project.folder / "Pulumi.dev.yaml").touch()
    settings.refresh()
    return Stack(settings, Path(programs) / "pulumi", project.environment)


@pytest.mark.nightly("killed; tests/unit/driver tells it")
def test_the_second_of_two_updates_names_the_first_and_a_dead_ones_lock_is_removed(
    engine: Engine, tmp_path: Path
) -> None:
    project = engine.project(tmp_path / "slow", _SLOW).started()
    backend = locks.folder(project.environment)
    assert backend
    with project.start("up", "--yes", "--skip-preview", "--stack", "dev") as first:
        eventually(lambda: list(backend.glob(".pulumi/locks/**/*.json")))
        stack = _stack(project)
        with pytest.raises(UserError) as raised:
            stack.destroy(Step("destroy"))
        (line,) = raised.value.lines
        assert line.startswith(f"stack dev: process {first.pid} on ")
        with pytest.raises(UserError, match=f"process {first.pid} on"):
            locks.break_stale(backend, "dev")
        first.kill()
    assert locks.break_stale(backend, "dev") == [
        f"stack dev: removed the lock of process {first.pid}, which no longer runs"
    ]
    project.having("").run("up", "--yes", "--skip-preview", "--stack", "dev")


def test_a_protected_resource_is_refused_with_the_setting_that_protects_it(engine: Engine, tmp_path: Path) -> None:
    project = engine.project(tmp_path / "kept", _VOLUME).started()
    project.run("up", "--yes", "--skip-preview", "--stack", "dev")
    stack = _stack(project.having(""))
    with pytest.raises(UserError) as raised:
        stack.up(Step("pulumi up"))
    told = "\n".join(raised.value.lines)
    says = "models, which holds a volume's data, is protected (retain: true): its deletion is blocked; declare it again"
    assert says in told
    assert "unprotect" not in told
