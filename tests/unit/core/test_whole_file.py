"""A file is replaced as a whole, with the mode that its writer wants, and nothing is left beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.core import whole_file


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_file_has_the_content_and_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole_file.write(path, "text", mode=whole_file.PRIVATE)
    assert (path.read_text(), _mode(path)) == ("text", 0o600)
    whole_file.write(tmp_path / "bytes", b"\xff", mode=0o755)
    assert ((tmp_path / "bytes").read_bytes(), _mode(tmp_path / "bytes")) == (b"\xff", 0o755)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bytes", "file"]


def test_changed_file_keeps_its_mode_unless_another_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(0o640)
    whole_file.write(path, "new")
    assert (path.read_text(), _mode(path)) == ("new", 0o640)
    whole_file.write(path, "new", mode=0o600)
    assert (path.read_text(), _mode(path)) == ("new", 0o600)


def test_file_that_has_the_content_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole_file.write(path, "text")
    before = path.stat()
    whole_file.write(path, "text")
    assert path.stat().st_ino == before.st_ino


def test_failed_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)  # the longest name
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file.replaced(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]
    with whole_file.replaced(path) as file:
        file.write(b"new")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["new"]


def test_link_replaces_a_file_or_a_link(tmp_path: Path) -> None:
    path = tmp_path / "link"
    path.write_text("file")
    for target in (tmp_path / "a", tmp_path / "b"):
        whole_file.link(path, target)
        assert path.readlink() == target
    assert list(tmp_path.iterdir()) == [path]
