"""`tensorplane kops`: the node groups of a stack as kops' InstanceGroups, one YAML document each."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("kops")
@options.stack_option
@click.option("--cluster", help="The cluster's name in kops (default: the name of the context).")
@click.option("--image", help="Image of the nodes (default: kops' own).")
@click.option("--driver", help="Ubuntu's package with the GPU driver (default: kops' own).")
def click_command(stack: str, cluster: str | None, image: str | None, driver: str | None) -> None:
    """A stack's node groups as kops' InstanceGroups, as YAML."""
    from tensorplane.cli import stack_config
    from tensorplane.cli.commands.kops import command

    print(command.text(stack_config.file(stack), command.Choice(cluster, image, driver)), end="")
