"""The packages of a stack's jobs, which `make up` builds images for."""

from __future__ import annotations

from pathlib import Path

import pytest

from driver import package_sets
from driver.stack_settings import StackSettings
from stack_file import package_lock
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
    return StackSettings("mine", tmp_path / "home", project=tmp_path)


def test_jobs_that_ask_for_the_same_share_a_set(settings: StackSettings) -> None:
    assert package_sets.asked(settings) == [["six", "humanize"], ["pandas"]]


def test_only_locked_sets_are_built(settings: StackSettings, tmp_path: Path) -> None:
    assert package_sets.locked(settings) == []
    package_lock.write(tmp_path, PackageLock("x", {"humanize, six": ("six==1 --hash=sha256:a",)}))
    assert package_sets.locked(settings) == [("six==1 --hash=sha256:a",)]
    (tmp_path / package_lock.FILE).write_text("")
    assert package_sets.locked(settings) == []
