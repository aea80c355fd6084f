"""`tensorplane reproduce`: makes a model again from its recorded lineage, and compares the two bit by bit."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("reproduce", short_help="Train a version of a model again, and compare it.")
@click.argument("target", metavar="MODEL[@VERSION]")
@options.stack_option
@click.option("--account", default="default", show_default=True, help="Service account whose rights on volumes to use.")
@click.option("--again", is_flag=True, help="Train once more what was reproduced already.")
def click_command(target: str, stack: str, account: str, again: bool) -> None:
    """Train a model's version again, with the image, files, settings, seed and data of then, and compare the two.

    It is a training job as of `tensorplane run`. The new version goes to the folder reproduced/ of the job's volume,
    and the model itself stays as it is. Exit status 1 if they differ, or if a part of the recipe is gone.

    \b
    tensorplane reproduce digits-server
    tensorplane reproduce models:/vision/train@3
    """
    from tensorplane.cli.commands.lineage.command import VersionOptions
    from tensorplane.cli.commands.reproduce import command
    from tensorplane.core import terminal

    command.run(VersionOptions(target, stack, options.kubeconfig_context(), account), terminal.console(), again=again)
