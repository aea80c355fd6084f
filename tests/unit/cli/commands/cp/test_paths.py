"""What SRC and DST name, and where a copy goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.cli.commands.cp import command as cp
from tensorplane.cli.commands.cp import paths
from tensorplane.cli.commands.cp.paths import VolumePath
from tensorplane.core.errors import UserError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("models:/digits/1", VolumePath("models", "digits/1")),
        ("models:digits", VolumePath("models", "digits")),
        ("models:/digits//./1/", VolumePath("models", "digits/1", into=True)),
        ("models:", VolumePath("models", "", into=True)),
        ("models:/", VolumePath("models", "", into=True)),
        ("models:/a:b", VolumePath("models", "a:b")),
        ("models", Path("models")),
        ("./models:/digits", Path("models:/digits")),
        ("/data/a:b", Path("/data/a:b")),
        ("C:/data", Path("C:/data")),
    ],
)
def test_a_path_before_a_colon_is_of_this_machine_if_it_has_a_slash(text: str, found: VolumePath | Path) -> None:
    assert paths.parsed(text) == found


@pytest.mark.parametrize("text", ["models:/../etc", "models:a/../../b", "models:.."])
def test_no_path_leads_out_of_a_volume(text: str) -> None:
    with pytest.raises(UserError, match=r"has \.\., which may lead out of the volume"):
        paths.parsed(text)


def test_with_a_slash_at_its_end_the_copy_keeps_its_name(tmp_path: Path) -> None:
    into, named = paths.parsed("models:/data/"), paths.parsed("models:/data")
    assert isinstance(into, VolumePath)
    assert isinstance(named, VolumePath)
    assert paths.target(tmp_path / "photos", into, "") == VolumePath("models", "data/photos")
    assert paths.target(tmp_path / "photos", named, "") == VolumePath("models", "data")
    assert paths.local_target(named, f"{tmp_path}/") == tmp_path / "data"
    assert paths.local_target(VolumePath("models", ""), f"{tmp_path}/") == tmp_path / "models"
    assert paths.local_target(named, f"{tmp_path}/new") == tmp_path / "new"
    assert paths.local_target(named, ".") == Path("data")
    with pytest.raises(UserError, match="is no folder; create it first"):
        paths.local_target(named, f"{tmp_path}/missing/new")


def test_one_of_both_is_on_a_volume(tmp_path: Path) -> None:
    volume = VolumePath("models", "a")
    assert cp._volume(volume, tmp_path) == cp._volume(tmp_path, volume) == volume
    with pytest.raises(UserError, match="both paths of this machine; write one of them as VOLUME:/PATH"):
        cp._volume(tmp_path, tmp_path)
    with pytest.raises(UserError, match="both on volumes"):
        cp._volume(volume, volume)
