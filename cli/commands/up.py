"""`tensorplane up`: deploys a stack, with its embedded cluster if it has one."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("up")
@options.stack_option
@options.context_option
@options.policies_option
@click.option("--refresh", is_flag=True, help="Read every resource first, and repair what has drifted.")
def click_command(stack: str, context: str, policies: str, refresh: bool) -> int:
    """Deploy a stack, on the embedded cluster or another."""
    from tensorplane.driver import exit_codes, up
    from tensorplane.driver.update.policy_pack import Policies

    return exit_codes.run("tensorplane up", lambda: up.up(context, stack, Policies(policies), refresh=refresh))
