"""A job's command can write beside its files, which Kubernetes mounts read-only and behind links."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.job_files import MOUNTED, enter_copy
from tensorplane.workloads.pods import pod


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files as the kubelet lays out those of a ConfigMap."""
    version = tmp_path / "app" / "..2026_01_01"
    (version / "conf").mkdir(parents=True)
    (version / "train.py").write_text("train")
    (version / "conf" / "small.yaml").write_text("small")
    (tmp_path / "app" / "..data").symlink_to(version.name)
    for name in ("train.py", "conf"):
        (tmp_path / "app" / name).symlink_to(f"..data/{name}")
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.chdir(tmp_path / "app")
    return tmp_path / "app"


def test_the_command_starts_in_a_copy_of_its_files(mounted: Path, tmp_path: Path) -> None:
    enter_copy(mounted, tmp_path / "copy")
    assert Path.cwd() == tmp_path / "copy"
    found = {str(path.relative_to(Path.cwd())): path for path in Path.cwd().rglob("*") if path.is_file()}
    assert sorted(found) == ["conf/small.yaml", "train.py"]
    assert not any(path.is_symlink() for path in Path.cwd().rglob("*"))
    Path("conf/made.txt").write_text("made")
    Path("train.py").write_text("changed")
    assert (mounted / "train.py").read_text() == "train"


def test_a_command_of_an_image_with_its_own_directory_stays_there(mounted: Path, tmp_path: Path) -> None:
    enter_copy(tmp_path / "other", tmp_path / "copy")
    assert Path.cwd() == mounted
    assert not (tmp_path / "copy").exists()


def test_it_is_the_directory_where_pods_mount_the_files() -> None:
    assert str(MOUNTED) == pod.APP
