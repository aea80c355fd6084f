"""`tensorplane lineage`: what a model's or a dataset's version was made from, by what, when and how."""

from __future__ import annotations

from pathlib import Path

import click

from tensorplane.cli import options


@click.command("lineage")
@click.argument("target", metavar="MODEL|DATASET[@VERSION]")
@options.stack_option
@click.option("--account", default="default", show_default=True, help="Service account whose rights on volumes to use.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a picture of it.")
@options.json_option()
@click.option("--openlineage", is_flag=True, help="Run events of OpenLineage, a line of JSON each.")
def click_command(target: str, stack: str, account: str, svg: Path | None, as_json: bool, openlineage: bool) -> None:
    """What a version was made from, and what that was made from.

    MODEL is a model server, SERVER/MODEL, or a training job of the stack; VOLUME:/PATH is a folder of versions of a
    model or a dataset. VERSION is a model's number, or a reference as of `tensorplane data`, such as main~1; by default
    it is the newest.

    \b
    tensorplane lineage digits-server
    tensorplane lineage models:/vision/train@3
    tensorplane lineage raw@main~1
    """
    from tensorplane.cli.commands.lineage import command
    from tensorplane.cli.commands.lineage.command import OutputFormat, VersionOptions
    from tensorplane.core import terminal
    from tensorplane.core.errors import UserError

    form = OutputFormat(svg, as_json, openlineage)
    if sum(map(bool, (svg, as_json, openlineage))) > 1:
        raise UserError("--svg, --json, --openlineage: set only one of them")
    command.run(VersionOptions(target, stack, options.kubeconfig_context(), account), form, terminal.console())
