"""`tensorplane image load`: an archive with images, into the embedded cluster."""

from __future__ import annotations

from pathlib import Path

from tensorplane.core import terminal
from tensorplane.core.errors import UserError
from tensorplane.core.progress import Progress
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tensorplane.images import archive


def run(file: Path, name: str | None) -> None:
    """Imports it into the running cluster, under the names that pods use."""
    names = [archive.full(name)] if name else archive.names(file)
    if not names:
        raise UserError(f"{file}: names no image; set a name with --name, such as --name team/trainer:1")
    instance = Instance.current()
    with Progress(terminal.console()) as progress, progress.step("load image") as step:
        cluster.load_archive(instance, file, names, step, rename=bool(name))
    for each in names:
        print(f"{each}: in the embedded cluster; set it as `image` of a workload")
