"""Errors of a volume that no repetition changes are refused in a line that says what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tensorplane.datasets import Refused, errors


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (errno.EACCES, "/data/x: Permission denied; let user {user} read and write it"),
        (errno.EPERM, "/data/x: Operation not permitted; let user {user} read and write it"),
        (errno.EROFS, "/data/x: Read-only file system; mount its volume for writing"),
        (errno.ENAMETOOLONG, "/data/x: File name too long; use shorter names"),
        (errno.EDQUOT, "raw: a file does not fit on volume data, whose quota is used up; raise the quota"),
    ],
)
def test_an_error_that_no_repetition_changes_says_what_to_do(tmp_path: Path, code: int, line: str) -> None:
    with (
        pytest.raises(Refused) as refused,
        errors.permanent_errors_refused(tmp_path, what="raw: a file", volume="volume data"),
    ):
        raise OSError(code, os.strerror(code), "/data/x")
    assert str(refused.value) == line.format(user=os.geteuid())


def test_a_volume_with_its_most_files_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.statvfs_result((4096, 4096, 9, 9, 9, 1000, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    expected = r"^raw: a file does not fit on its volume, which has no free inode of 1,000; make"
    with pytest.raises(Refused, match=expected), errors.permanent_errors_refused(tmp_path, what="raw: a file"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_volume_is_named_by_the_folder_where_pods_mount_it(monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.statvfs_result((4096, 4096, 256, 0, 0, 9, 9, 9, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    monkeypatch.setattr(Path, "exists", lambda path: True)
    expected = r"^raw: a file does not fit on volume data, which has 0 B of 1 MiB free; make the volume larger$"
    with (
        pytest.raises(Refused, match=expected),
        errors.permanent_errors_refused(Path("/volumes/data/datasets/raw"), what="raw: a file"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
