"""`tensorplane cp SRC DST`: copies files to a volume and from it."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("cp")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@options.stack_option
@click.option(
    "--account",
    default="default",
    show_default=True,
    help="Service account of the pod that copies, such as one of the volume's writers.",
)
def click_command(source: str, target: str, stack: str, account: str) -> None:
    """Copy a file or a folder to a volume of the stack, or from it.

    SRC and DST are a path of this machine and VOLUME:/PATH, in either order. DST is the name of the copy; with a slash
    at its end, SRC keeps its name there. Files that DST has with the same size and time are not copied again, so the
    same command goes on after an interruption.
    """
    from tensorplane.cli.commands.cp import command
    from tensorplane.core import terminal

    command.run(command.CopyOptions(source, target, stack, options.kubeconfig_context(), account), terminal.console())
