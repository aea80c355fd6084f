"""The packages of a stack's jobs, which `make up` builds images for."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.paths import PROJECT
from driver import package_sets
from driver.stack_settings import StackSettings
from stack_file import package_lock, sweep_packages
from stack_file.package_lock import PackageLock

STACK = """
config:
  tensorplane:workloads:
    a: {kind: trainingJob, packages: [six, humanize]}
    b: {kind: trainingJob, packages: [humanize, six]}
    c: {kind: trainingJob, packages: [pandas]}
    wrong: {packages: six}
    worse: 7
"""


@pytest.fixture
def settings(tmp_path: Path) -> StackSettings:
    (tmp_path / "Pulumi.mine.yaml").write_text(STACK)
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "requirements.txt").write_text("tf-keras==2.21.0\n")
    return StackSettings("mine", tmp_path / "home", project=tmp_path)


def test_a_stack_whose_teams_have_members_gets_the_image_of_sweeps(settings: StackSettings, tmp_path: Path) -> None:
    teams = "  tensorplane:teams: {vision: {members: ['user:ada']}, audio: {}}\n"
    (tmp_path / "Pulumi.mine.yaml").write_text(STACK + teams)
    assert package_sets.locked(settings) == [sweep_packages.lines(PROJECT)]


def test_jobs_that_ask_for_the_same_share_a_set(settings: StackSettings) -> None:
    assert package_sets.asked(settings) == [["six", "humanize"], ["pandas"]]


def test_only_what_locked_sets_add_to_the_image_is_built(settings: StackSettings, tmp_path: Path) -> None:
    assert package_sets.locked(settings) == []
    package_lock.write(tmp_path, PackageLock("x", {"humanize, six": ("six==1 --hash=sha256:a",)}))
    assert package_sets.locked(settings) == [("six==1 --hash=sha256:a",)]
    keras = "tf-keras==2.21.0 --hash=sha256:b"
    sets = {"humanize, six": (keras, "six==1 --hash=sha256:a"), "pandas": (keras,)}
    package_lock.write(tmp_path, PackageLock("x", sets))
    assert package_sets.locked(settings) == [("six==1 --hash=sha256:a",)]
    (tmp_path / package_lock.FILE).write_text("")
    assert package_sets.locked(settings) == []
