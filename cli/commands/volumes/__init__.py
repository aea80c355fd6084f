"""`tensorplane volumes`: a stack's volumes, their snapshots and mirrors, and data left from deleted ones."""

from __future__ import annotations

import click

from cli import options


@click.command("volumes")
@click.argument("name", required=False)
@options.stack
@options.as_json()
@click.option(
    "--bring-back", is_flag=True, help="Print the objects that restore VolumeSnapshotContent NAME as a snapshot."
)
def command(name: str | None, stack: str, as_json: bool, bring_back: bool) -> None:
    """Volumes, snapshots, mirrors, and data left from deleted volumes.

    With NAME, the snapshots of this volume.
    """
    from cli.commands.volumes import query
    from driver import terminal

    query.run(query.Question(stack, options.context(), name, as_json, bring_back), terminal.console())
