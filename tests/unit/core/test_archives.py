"""Archives are unpacked on each Python that the project runs on."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core import archives


@pytest.fixture(params=["this", "3.11.2"])
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian 12 has Python 3.11.2, without filters."""
    if request.param == "this":
        return
    every = tarfile.TarFile.extractall
    monkeypatch.delattr(tarfile, "tar_filter")
    monkeypatch.setattr(tarfile.TarFile, "extractall", lambda self, path: every(self, path))


@pytest.mark.usefixtures("python")
def test_an_archive_is_unpacked(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("bin/program")
        member.size, member.mode = 2, 0o755
        archive.addfile(member, io.BytesIO(b"ok"))
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        archives.extract(archive, tmp_path)
    assert (tmp_path / "bin/program").read_bytes() == b"ok"
    assert (tmp_path / "bin/program").stat().st_mode & 0o777 == 0o755


def test_a_member_that_leads_out_is_refused(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../out"))
    packed.seek(0)
    refused: Any = tarfile.OutsideDestinationError
    with tarfile.open(fileobj=packed) as archive, pytest.raises(refused):
        archives.extract(archive, tmp_path / "in")
