"""`tensorplane check`: what is wrong with a stack's settings, without an engine; with --cluster also against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from tensorplane.cli import options

if TYPE_CHECKING:
    from tensorplane.components.base.problems import Note
    from tensorplane.stack import ResolvedStack


@click.command("check")
@options.stack_option
@click.option(
    "--cluster",
    is_flag=True,
    help="Also compare with the stack's cluster: classes, snapshots, sizes, nodes, quotas, GPUs.",
)
@click.option(
    "--machine/--no-machine",
    default=None,
    help="Also compare pods for the embedded cluster with the size of this machine. [default: if it was started here]",
)
def click_command(stack: str, cluster: bool, machine: bool | None) -> None:
    """What is wrong with a stack's settings, a line each."""
    from tensorplane.cli import stack_config
    from tensorplane.cli.commands.check import command
    from tensorplane.cli.commands.check import node_sizes as here

    compares = here.has_embedded_cluster() if machine is None else machine
    compare: Callable[[ResolvedStack], Iterable[Note]] | None = here.compare_with_machine if compares else None
    if cluster:
        # The client of Kubernetes' API takes as long to import as the check of the settings takes.
        from tensorplane.cli.commands.check import cluster as against

        compare = against.comparison(stack, options.kubeconfig_context())
    print(command.run(stack_config.file(stack), compare))
