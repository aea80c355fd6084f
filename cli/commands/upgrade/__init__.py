"""`tensorplane upgrade`: what this version of tensorplane would change in a deployed stack, before it does."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("upgrade", short_help="What this version would change in a deployed stack.")
@options.stack_option
@options.context_option
@options.json_option()
def click_command(stack: str, context: str, as_json: bool) -> int:
    """What this version of tensorplane would refuse, replace, delete, restart or rename in a deployed stack.

    Changes nothing. The exit code is 0 if it leaves all as it is or updates it in place, 3 if something is replaced,
    deleted or restarted, and 1 if the update is refused.
    """
    from tensorplane.driver import tools
    from tensorplane.driver.target import Target

    # What the following imports may be installed just now.
    tools.prepare_preview(Target.of(context, stack=stack))
    from tensorplane.cli.commands.upgrade import command
    from tensorplane.core import terminal

    return command.run(stack, context, terminal.console(), as_json=as_json)
