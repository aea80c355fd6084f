"""`tensorplane load SERVER`: requests at a steady rate, and how fast they are answered."""

from __future__ import annotations

from typing import IO

import click

from tensorplane.cli import options


@click.command("load")
@options.server_argument()
@click.argument("request_file", metavar="[FILE]", type=click.File("rb"), required=False)
@options.stack_option
@click.option("--rate", type=click.FloatRange(min=0.1, max=100_000), default=50, show_default=True, help="Per second.")
@click.option("--seconds", type=click.FloatRange(min=1, max=86_400), default=10, show_default=True, help="How long.")
@click.option(
    "--connections", type=click.IntRange(1, 1000), default=16, show_default=True, help="Most requests at once."
)
@options.json_option("What was measured, for programs.")
def click_command(
    target: str,
    request_file: IO[bytes] | None,
    stack: str,
    rate: float,
    seconds: float,
    connections: int,
    as_json: bool,
) -> None:
    """Ask a model server at a steady rate, and show its latencies.

    The request is JSON in FILE as for `predict`; without FILE, one example of zeros. Latencies count from when a
    request was due, so that a server that falls behind shows it.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.load import command
    from tensorplane.core import terminal

    test = command.LoadOptions(target, request_file.read() if request_file else None, rate, seconds, connections)
    command.run(Access.of(stack, None, options.kubeconfig_context()), test, terminal.console(), as_json=as_json)
