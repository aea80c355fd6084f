"""The variables for `pulumi`: what the user has set stays, the passphrase is made once and is private."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tensorplane.plugins.hosts.shell import activate
from tensorplane.toolchain.pulumi_environment import pulumi_environment

PREVIEWS = {"PULUMI_SKIP_UPDATE_CHECK": "1", "PULUMI_LEGACY_PROVIDER_PREVIEW": "1"}


def test_the_passphrase_is_made_once_and_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = pulumi_environment(home, given={})
    passphrase = Path(first["PULUMI_CONFIG_PASSPHRASE_FILE"])
    content = passphrase.read_text()
    assert len(content) > 32
    assert passphrase.stat().st_mode & 0o777 == 0o600
    assert pulumi_environment(home, given={}) == first
    assert passphrase.read_text() == content
    assert (home / "pulumi").is_dir()
    assert first["PULUMI_BACKEND_URL"] == f"file://{home}/pulumi?metadata=skip"


def test_empty_attribute_files_left_by_a_kill_are_removed(tmp_path: Path) -> None:
    stacks = tmp_path / "pulumi" / ".pulumi" / "stacks"
    stacks.mkdir(parents=True)
    for name, text in {"dev.json": "{}", "dev.json.attrs": "", "other.json.attrs": "{}"}.items():
        (stacks / name).write_text(text)
    pulumi_environment(tmp_path, given={})
    assert sorted(each.name for each in stacks.iterdir()) == ["dev.json", "other.json.attrs"]


def test_two_commands_at_once_agree_on_the_passphrase(tmp_path: Path) -> None:
    def read(_: int) -> str:
        return Path(pulumi_environment(tmp_path, given={})["PULUMI_CONFIG_PASSPHRASE_FILE"]).read_text()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(read, range(32)))) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["passphrase", "pulumi"]


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    given = {"PULUMI_BACKEND_URL": "s3://states", "PULUMI_CONFIG_PASSPHRASE": "mine"}
    assert pulumi_environment(tmp_path, given=given) == {
        "PULUMI_BACKEND_URL": "s3://states",
        **PREVIEWS,
    }
    assert not (tmp_path / "passphrase").exists()


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment's activate script, after `activate` has added to it."""
    script = tmp_path / "venv" / "bin" / "activate"
    script.parent.mkdir(parents=True)
    script.write_text("VIRTUAL_ENV=here\n")
    activate(tmp_path / "venv", home=tmp_path / "it's home", pulumi=Path("/bin/true"))
    return tmp_path / "venv"


def shell(venv: Path, **variables: str) -> dict[str, str]:
    """Pulumi's variables in a strict shell that has read the activate script."""
    script = f'set -eu; . "{venv}/bin/activate"; env -0'
    found = subprocess.run(["sh", "-c", script], env=variables, capture_output=True, text=True, check=True).stdout
    pairs = (each.split("=", 1) for each in found.split("\0") if each)
    return {name: value for name, value in pairs if name.startswith("PULUMI_")}


def test_activate_sets_what_is_unset(venv: Path, tmp_path: Path) -> None:
    assert shell(venv) == pulumi_environment(tmp_path / "it's home", given={})
    mine = {"PULUMI_CONFIG_PASSPHRASE": "mine", "PULUMI_BACKEND_URL": "s3://states"}
    assert shell(venv, **mine) == {**mine, **PREVIEWS}


def test_activate_twice_is_activate_once(venv: Path, tmp_path: Path) -> None:
    once = (venv / "bin" / "activate").read_text()
    activate(venv, home=tmp_path / "it's home", pulumi=Path("/bin/true"))
    assert (venv / "bin" / "activate").read_text() == once
    activate(venv, home=tmp_path / "other", pulumi=Path("/bin/true"))
    assert (venv / "bin" / "activate").read_text().count("tensorplane:") == 1
    assert shell(venv)["PULUMI_BACKEND_URL"] == f"file://{tmp_path}/other/pulumi?metadata=skip"


def test_the_cli_is_linked_unless_path_leads_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    built, venv = tmp_path / "built" / "pulumi", tmp_path / "venv"
    for folder in (venv / "bin", built.parent, tmp_path / "path"):
        folder.mkdir(parents=True)
    built.touch(0o755)
    (venv / "bin" / "activate").touch()
    activate(venv, home=tmp_path / "home", pulumi=built)
    assert (venv / "bin" / "pulumi").resolve() == built
    (tmp_path / "path" / "pulumi").touch(0o755)
    activate(venv, home=tmp_path / "home", pulumi=tmp_path / "path" / "pulumi")
    assert not (venv / "bin" / "pulumi").is_symlink()
