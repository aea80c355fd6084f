"""`tensorplane new`: writes a project of eight files, whose stack `dev` trains a model and serves it."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("new")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", help="The project's name, by which Pulumi keeps its states. [default: that of the folder]")
def click_command(folder: Path, name: str | None) -> None:
    """Write a project of eight files, to deploy and to change."""
    from tensorplane.cli.commands.new import command

    print(*command.write(folder, name), sep="\n")
