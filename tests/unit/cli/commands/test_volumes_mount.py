"""`tensorplane volumes mount`: which command it is, and what it says of clusters whose volumes are elsewhere."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tensorplane import stack
from tensorplane.cli import registry
from tensorplane.cli.commands.volumes import mount
from tensorplane.core.errors import UserError
from tests.support.rendering import PROJECT, settings_of


@pytest.mark.parametrize(
    ("words", "name", "left"),
    [
        (["mount", "models", "/mnt"], "mount", ["models", "/mnt"]),
        (["models"], "list", ["models"]),
        (["--json"], "list", ["--json"]),
        (["--stack", "prod", "models"], "list", ["--stack", "prod", "models"]),
        (["list", "mount"], "list", ["mount"]),
    ],
)
def test_without_another_command_volumes_are_listed(words: list[str], name: str, left: list[str]) -> None:
    volumes = registry.load("volumes")
    assert isinstance(volumes, click.Group)
    with click.Context(volumes) as context:
        found, _, rest = volumes.resolve_command(context, words)
    assert (found, rest) == (name, left)


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        ("private-data", "is on backend cephfs, for which other machines use `mount -t ceph` with your own key"),
        ("eks-data", "is on backend fsxLustre, for which other machines use Lustre with `mount -t lustre`"),
        (
            "mirrored",
            "is on backend storageClass, which only pods of the cluster mount; copy files with: tensorplane cp",
        ),
    ],
)
def test_elsewhere_the_storage_itself_is_mounted_or_files_are_copied(example: str, reason: str) -> None:
    resolved = stack.load(settings_of(PROJECT / "examples" / f"{example}.yaml"))
    said = [mount._elsewhere(resolved, name) for name in resolved.config.volumes]
    assert any(reason in line for line in said), said
    assert all("tensorplane cp " in line for line in said)


def test_only_an_empty_folder_is_mounted_over(tmp_path: Path) -> None:
    assert mount._folder(str(tmp_path / "new")).is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="is not empty; name an empty folder"):
        mount._folder(str(tmp_path))
    with pytest.raises(UserError, match="name another folder"):
        mount._folder(str(tmp_path / "file"))
