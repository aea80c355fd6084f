"""A project of the test's own, previewed by the real engine with every cloud's provider stood in for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.cli.commands.preview.report import Report
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.plugins.hosts import stand_ins
from tests.hosts.conftest import engine as engine
from tests.hosts.engine import Engine, Project

WHY = "Pulumi's plugin is not installed"
PACKAGES = {cloud.package: WHY for cloud in stand_ins.CLOUDS}

Previewed = Callable[[str], Report]


@pytest.fixture
def project(engine: Engine, tmp_path: Path) -> Project:
    """A project with an empty stack `dev`, on whose PATH no stand-in is."""
    project = engine.project(tmp_path / "tiny").started()
    (project.folder / "Pulumi.dev.yaml").write_text("config: {}\n")
    # What a test gets wrong must not reach a cloud by a real plugin, on a machine that could download one.
    project.environment["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    return project


@pytest.fixture
def previewed(engine: Engine, project: Project, tmp_path: Path) -> Previewed:
    """Previews a program, as `make preview` does."""
    settings = StackSettings("dev", tmp_path / "home", project.folder)

    def preview(program: str) -> Report:
        project.having(program)
        kept = {name: text for name, text in project.environment.items() if name.startswith(("PULUMI_", "PATH"))}
        with stand_ins.on_path(PACKAGES, kept["PATH"]) as path:
            environment = {**kept, "PATH": path}
            return Preview(settings, engine.programs / "pulumi", environment, stand_ins=PACKAGES).run()

    return preview
