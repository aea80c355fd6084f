"""`tensorplane image`: images of training jobs, without Docker: locked packages, archives, registries."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("image")
def click_command() -> None:
    """Images of training jobs: lock packages, build, push, load."""


@click_command.command("lock")
@click.option("--upgrade", is_flag=True, help="Take the newest versions, also of what is locked.")
def _lock(upgrade: bool) -> None:
    """Resolve the jobs' packages to versions and hashes, in packages.lock."""
    from tensorplane.cli.commands.image import lock

    lock.run(upgrade=upgrade)


@click_command.command("build")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@click.option("--requirements", type=Path, metavar="FILE", help="Packages as pip's requirements file.")
@click.option("--gpu", is_flag=True, help="For NVIDIA GPUs: about 3.5 GB of TensorFlow and CUDA.")
@click.option("--lock", type=Path, metavar="FILE", help="Write the resolved packages, for --requirements.")
@click.option("--push", metavar="REF", help="Push it: registry.example/team/train:1.")
@click.option("--output", type=Path, metavar="ARCHIVE", help="Write it as an OCI archive.")
@click.option("--name", metavar="REF", help="Its name in the archive (default: that of --push).")
def _build(
    packages: tuple[str, ...],
    requirements: Path | None,
    gpu: bool,
    lock: Path | None,
    push: str | None,
    output: Path | None,
    name: str | None,
) -> None:
    """The training image with packages, such as pandas==2.2.3, as an archive or in a registry."""
    from tensorplane.cli.commands.image import build

    wanted = [*packages, *build.requirements(requirements)]
    build.run(build.Build(wanted, gpu=gpu, lock=lock, push=push, output=output, name=name))


@click_command.command("load")
@click.argument("archive", type=Path)
@click.option("--name", metavar="REF", help="The image's name for pods, if the archive has none.")
def _load(archive: Path, name: str | None) -> None:
    """Import an archive, of any language's image, into the embedded cluster.

    ARCHIVE is an OCI archive, or that of `docker save`.
    """
    from tensorplane.cli.commands.image import load

    load.run(archive, name)
