"""`tensorplane image`: what is locked again, and which packages an image gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from tensorplane.cli.commands.image import build, lock
from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.images import package_resolution
from tensorplane.stack_file import package_lock
from tensorplane.stack_file.package_lock import PackageLock

OLD = ("six==1.16.0 --hash=sha256:a",)
NEW = ("six==1.17.0 --hash=sha256:b",)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, ...]]:
    """A project that has locked six, and the earlier versions of each resolution."""
    requirements = tmp_path / "training.txt"
    requirements.write_text("numpy==2.4.6\n")
    monkeypatch.setattr(package_lock, "TRAINING_IMAGE", requirements)
    package_lock.write(tmp_path, PackageLock(package_lock.base_image_hash(), {"six": OLD}))
    monkeypatch.setattr(lock, "PROJECT", tmp_path)
    monkeypatch.setattr(build, "PROJECT", tmp_path)
    earlier: list[tuple[str, ...]] = []

    def resolve(_: Sequence[str], pins: Mapping[str, str], __: Step, keep: Iterable[str] = ()) -> tuple[str, ...]:
        assert pins == {"numpy": package_lock.pins()["numpy"]}
        earlier.append(tuple(keep))
        return NEW

    monkeypatch.setattr(package_resolution, "resolve", resolve)
    return earlier


def _locked(*wanted: str, upgrade: bool = False) -> Mapping[str, tuple[str, ...]]:
    return lock.locked([[name] for name in wanted], Step("lock"), upgrade=upgrade).locked_sets


def test_what_is_locked_is_not_resolved_again(calls: list[tuple[str, ...]]) -> None:
    assert _locked("six") == {"six": OLD}
    assert calls == []


def test_new_packages_are_resolved_and_others_dropped(calls: list[tuple[str, ...]]) -> None:
    assert _locked("humanize") == {"humanize": NEW}
    assert calls == [()]


def test_an_upgrade_starts_from_nothing(calls: list[tuple[str, ...]]) -> None:
    assert _locked("six", upgrade=True) == {"six": NEW}
    assert calls == [()]


def test_for_another_training_image_earlier_versions_are_preferred(
    calls: list[tuple[str, ...]], tmp_path: Path
) -> None:
    (tmp_path / "training.txt").write_text("numpy==2.5.0\n")
    assert _locked("six") == {"six": NEW}
    assert calls == [OLD]


def test_a_build_without_destination_is_refused() -> None:
    with pytest.raises(UserError, match="add --push REF or --output ARCHIVE"):
        build.run(build.Build(["six"]))


def test_packages_with_hashes_are_taken_as_they_are(calls: list[tuple[str, ...]]) -> None:
    assert build.locked(["b==1 --hash=sha256:1", "a==1   --hash=sha256:2"], Step("x")) == (
        "a==1 --hash=sha256:2",
        "b==1 --hash=sha256:1",
    )
    with pytest.raises(UserError, match="c==1: has no hash, and other packages have"):
        build.locked(["b==1 --hash=sha256:1", "c==1"], Step("x"))
    assert calls == []


def test_a_build_takes_what_the_project_has_locked(calls: list[tuple[str, ...]]) -> None:
    assert build.locked(["six"], Step("x")) == OLD
    assert build.locked([], Step("x")) == ()
    assert build.locked(["humanize"], Step("x")) == NEW


def test_a_requirements_file_may_have_comments_and_continued_lines(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("# all\nsix==1 \\\n    --hash=sha256:a\nhumanize  # numbers\n\n")
    assert [" ".join(line.split()) for line in build.requirements(file)] == ["six==1 --hash=sha256:a", "humanize"]
    file.write_text("--index-url x\nsix\n")
    with pytest.raises(UserError, match="--index-url x is an option of pip"):
        build.requirements(file)
    with pytest.raises(UserError, match="No such file"):
        build.requirements(tmp_path / "absent")
