"""`tensorplane check`: what is wrong with a stack's settings, without an engine; with --cluster also against it."""

from __future__ import annotations

import click

from cli import options


@click.command("check")
@options.stack
@click.option(
    "--cluster", is_flag=True, help="Also compare with the stack's cluster: classes, snapshots, sizes, nodes, quotas."
)
def command(stack: str, cluster: bool) -> None:
    """What is wrong with a stack's settings, a line each."""
    from cli import stack_config
    from cli.commands.check import settings

    file, compare = stack_config.file(stack), None
    if cluster:
        # The client of Kubernetes' API takes as long to import as the check of the settings takes.
        from cli.commands.check import cluster as against

        compare = against.comparison(stack, options.context())
    print(settings.run(file, compare))
