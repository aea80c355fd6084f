"""The file with the locked versions of the jobs' packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.stack_file import package_lock
from tensorplane.stack_file.package_lock import PackageLock

LINES = ("humanize==4.9.0 --hash=sha256:aa", "six==1.17.0 --hash=sha256:bb")


def test_a_written_lock_is_read_as_it_was(tmp_path: Path) -> None:
    lock = PackageLock("0a1b", {"humanize, six": LINES, "tensorflow": ()})
    package_lock.write(tmp_path, lock)
    assert package_lock.read(tmp_path) == lock


def test_a_project_without_the_file_has_locked_nothing(tmp_path: Path) -> None:
    assert package_lock.read(tmp_path).locked(["six"]) is None


def test_the_order_of_packages_does_not_matter() -> None:
    lock = PackageLock("", {"humanize, six": LINES})
    assert lock.locked(["six", " humanize"]) == LINES


@pytest.mark.parametrize("text", ["", "sets: 1\nagainst: x", "against: [", "- 1", "against: x\nsets: [a]"])
def test_a_damaged_lock_is_refused_with_the_command_that_writes_it(tmp_path: Path, text: str) -> None:
    (tmp_path / package_lock.FILE).write_text(text)
    with pytest.raises(ValueError, match=r"packages.lock: cannot be read; run: tensorplane image lock"):
        package_lock.read(tmp_path)


def test_an_image_is_named_by_the_content_of_its_packages() -> None:
    name = package_lock.image_name("team/train:1", LINES)
    assert name.startswith("team/train:1-")
    assert package_lock.image_name("team/train:1", reversed(LINES)) == name
    assert package_lock.image_name("team/train:1", LINES[:1]) != name
    assert package_lock.image_name("team/train:1", ()) == "team/train:1"


def test_comments_of_the_training_image_s_packages_make_no_lock_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = tmp_path / "training.txt"
    monkeypatch.setattr(package_lock, "TRAINING_IMAGE", requirements)
    requirements.write_text("tensorflow-cpu==2 ; a\ntensorflow==2 ; b\nnumpy==2.4.6   # arrays\n")
    before = package_lock.base_image_hash()
    # The build for CPUs is TensorFlow under another name.
    assert package_lock.pins() == {"tensorflow": "2", "numpy": "2.4.6"}
    requirements.write_text("# all\ntensorflow-cpu==2 ; a\ntensorflow==2 ; b\nnumpy==2.4.6   # numbers\n")
    assert package_lock.base_image_hash() == before
    requirements.write_text("tensorflow==2 ; b\nnumpy==2.4.7\n")
    assert package_lock.base_image_hash() != before
    assert package_lock.pins() == {"tensorflow": "2", "numpy": "2.4.7"}
