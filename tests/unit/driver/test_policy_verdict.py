"""`make up` runs the policies in a preview unless they have passed with the same settings, program and policies."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from driver import policy_verdict
from driver.policy_verdict import PassRecord
from driver.stack_settings import StackSettings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackSettings:
    """Of a stack in a project of links, for which the policies have passed."""
    real, project, pack = tmp_path / "real", tmp_path / "project", tmp_path / "pack"
    for folder in (real / "components", project, pack / "rules"):
        folder.mkdir(parents=True)
    (real / "components" / "prices.csv").write_text("1")
    (pack / "rules" / "gpu.py").write_text("1")
    (pack / "config.dev.json").write_text("{}")
    (project / "components").symlink_to(real / "components")
    (project / "__main__.py").write_text("")
    (project / "Pulumi.yaml").write_text("name: tiny\n")
    (project / "Pulumi.dev.yaml").write_text("config: {}\n")
    monkeypatch.setattr(policy_verdict, "PACK", pack)
    made = StackSettings("dev", tmp_path / "home", project)
    made.refresh()
    PassRecord.of(made, {}).save()
    return made


def test_the_same_update_has_passed(settings: StackSettings) -> None:
    (settings.project / "preview.md").write_text("a report of the same stack")
    (settings.project / ".git").mkdir()
    (settings.project / "__pycache__").mkdir()
    (settings.project / "__pycache__" / "cached.py").write_text("")
    assert PassRecord.of(settings, {"PATH": "/bin"}).passed


def test_nothing_has_passed_before_the_first_update(settings: StackSettings) -> None:
    PassRecord.of(settings, {}).file.unlink()
    assert not PassRecord.of(settings, {}).passed


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "project/Pulumi.dev.yaml").write_text("config: {tensorplane:volumes: {}}\n"),
        lambda folder: (folder / "project/__main__.py").write_text("import stack"),
        lambda folder: (folder / "project/more.py").write_text(""),
        lambda folder: (folder / "real/components/prices.csv").write_text("12"),
        lambda folder: os.utime(folder / "real/components/prices.csv", (1, 1)),
        lambda folder: (folder / "pack/rules/gpu.py").unlink(),
        lambda folder: (folder / "pack/config.dev.json").write_text('{"gpu-quota": {"maxGpus": 1}}'),
    ],
)
def test_a_change_of_what_policies_see_has_not_passed(
    settings: StackSettings, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    change(tmp_path)
    settings.refresh()
    assert not PassRecord.of(settings, {}).passed


@pytest.mark.parametrize("variable", ["TENSORPLANE_CONTEXT", "TENSORPLANE_USAGE"])
def test_another_cluster_or_use_has_not_passed(settings: StackSettings, variable: str) -> None:
    assert not PassRecord.of(settings, {variable: "other"}).passed
