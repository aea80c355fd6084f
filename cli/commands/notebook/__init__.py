"""`tensorplane notebook NAME`: starts a notebook of the stack if it does not run, and opens it."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("notebook")
@click.argument("name")
@options.stack_option
@click.option("--port", type=click.IntRange(1, 65535), help="Port of this machine; by default 8888, or a free one.")
@click.option("--open", "opens", is_flag=True, help="Open it in a browser.")
def click_command(name: str, stack: str, port: int | None, opens: bool) -> None:
    """Open a notebook on a port of this machine.

    NAME is a workload of kind `notebook`. It starts in its queue if it does not run. After Ctrl-C it runs on, and ends
    by itself when it is idle; `tensorplane cancel NAME` ends it at once.
    """
    from tensorplane.cli import stack_config
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.notebook import command
    from tensorplane.core import terminal

    file = stack_config.file(stack)
    command.check_readable(name, stack_config.encrypted(file, "workloads"))
    resolved = stack_config.load(file)
    access = Access.of(stack, None, options.kubeconfig_context())
    command.run(access, resolved, name, terminal.console(), port=port, opens=opens)
