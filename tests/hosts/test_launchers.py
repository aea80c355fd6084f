"""Launchers are written only where Pulumi's own hosts are missing, and go when those appear."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tensorplane.toolchain import launchers

LANGUAGE, KUBERNETES = "pulumi-language-python", "pulumi-resource-kubernetes"
NO_DOWNLOADS = Path("/bin/false")


@pytest.fixture
def bin_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for launchers on a machine without any plugin of Pulumi's."""
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def program(path: Path, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_both_are_written_where_nothing_is_there(bin_dir: Path) -> None:
    assert launchers.install(bin_dir, pulumi=NO_DOWNLOADS) == [LANGUAGE, KUBERNETES]
    assert all((bin_dir / name).stat().st_mode & 0o111 for name in (LANGUAGE, KUBERNETES))
    assert "PYTHONPATH" not in (bin_dir / LANGUAGE).read_text()


def test_a_second_run_changes_nothing(bin_dir: Path) -> None:
    launchers.install(bin_dir, pulumi=NO_DOWNLOADS)
    before = (bin_dir / LANGUAGE).stat()
    assert launchers.install(bin_dir, pulumi=NO_DOWNLOADS) == [LANGUAGE, KUBERNETES]
    assert (bin_dir / LANGUAGE).stat().st_mtime_ns == before.st_mtime_ns


def test_they_step_aside_for_a_language_host_beside_the_cli(bin_dir: Path, tmp_path: Path) -> None:
    launchers.install(bin_dir, pulumi=NO_DOWNLOADS)
    official = program(tmp_path / "official" / "pulumi", "#!/bin/sh\nexit 1\n")
    program(official.with_name(LANGUAGE))
    assert launchers.install(bin_dir, pulumi=official) == [KUBERNETES]
    assert not (bin_dir / LANGUAGE).exists()


def test_they_step_aside_for_a_plugin_on_path(bin_dir: Path, tmp_path: Path) -> None:
    program(tmp_path / "elsewhere" / KUBERNETES)
    assert launchers.install(bin_dir, pulumi=NO_DOWNLOADS) == [LANGUAGE]


def test_they_step_aside_for_a_plugin_in_the_cache(bin_dir: Path, tmp_path: Path) -> None:
    launchers.install(bin_dir, pulumi=NO_DOWNLOADS)
    (tmp_path / "pulumi" / "plugins" / "resource-kubernetes-v4.34.2").mkdir(parents=True)
    assert launchers.install(bin_dir, pulumi=NO_DOWNLOADS) == [LANGUAGE]
    assert not (bin_dir / KUBERNETES).exists()


def test_pulumis_own_plugin_is_asked_for_before_ours_is_written(bin_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pulumi" / "plugins" / "resource-kubernetes-v4.34.2"
    script = (
        f'#!/bin/sh\n[ "$1 $2 $3 $4 $5" = "plugin install resource kubernetes 4.34.2" ] && /bin/mkdir -p {folder}\n'
    )
    assert launchers.install(bin_dir, pulumi=program(tmp_path / "cli" / "pulumi", script)) == [LANGUAGE]


def test_a_file_that_is_not_ours_stays(bin_dir: Path) -> None:
    foreign = program(bin_dir / LANGUAGE)
    assert launchers.install(bin_dir, pulumi=NO_DOWNLOADS) == [KUBERNETES]
    assert foreign.read_text() == "#!/bin/sh\nexit 0\n"


def test_kubectl_is_that_of_the_cluster_unless_the_machine_has_one(
    bin_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, built = bin_dir / "kubectl", tmp_path / "tools" / "kubectl"
    monkeypatch.setenv("PATH", str(tmp_path / "own"))
    launchers.link_kubectl(bin_dir, built)
    assert not link.is_symlink(), "it is not built yet"
    program(built)
    launchers.link_kubectl(bin_dir, built)
    assert link.resolve() == built
    other = program(tmp_path / "newer" / "kubectl")
    launchers.link_kubectl(bin_dir, other)
    assert link.resolve() == other
    program(tmp_path / "own" / "kubectl")
    launchers.link_kubectl(bin_dir, other)
    assert not link.is_symlink()


def test_the_command_answers_in_any_folder(tmp_path: Path) -> None:
    launchers.install_command(tmp_path)
    asked = [str(tmp_path / "tensorplane"), "catalog", "--accelerator", "t4", "--cloud", "eks"]
    answer = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "g4dn.xlarge" in answer.stdout
