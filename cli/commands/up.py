"""`tensorplane up`: deploys a stack, as `make up` does."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("up")
@options.stack_option
@options.policies_option
def click_command(stack: str, policies: str) -> int:
    """Deploy a stack, with its embedded cluster if it has one."""
    from tensorplane.driver import exit_codes, up
    from tensorplane.driver.update.policy_pack import Policies

    return exit_codes.run("tensorplane up", lambda: up.up(options.kubeconfig_context(), stack, Policies(policies)))
