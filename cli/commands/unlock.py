"""`tensorplane unlock`: removes the lock that a killed `pulumi` left on a stack."""

from __future__ import annotations

import click

from tensorplane.cli import options


def unlock(stack: str, context: str) -> str:
    """Removes the locks of dead processes on this machine and lists them. The lock of a live process is a UserError."""
    from tensorplane.core.errors import UserError
    from tensorplane.driver.stack_settings import StackSettings
    from tensorplane.driver.target import Target
    from tensorplane.driver.update import locks

    target = Target.of(context, stack=stack)
    StackSettings(stack, target.home).source()
    environment = target.environment()
    backend = locks.folder(environment)
    if backend is None:
        url = environment["PULUMI_BACKEND_URL"]
        raise UserError(f"stack {stack}: its state is in {url}; remove its lock with: pulumi cancel --stack {stack}")
    return "\n".join(locks.break_stale(backend, stack)) or f"stack {stack}: no lock"


@click.command("unlock")
@options.stack_option
def click_command(stack: str) -> None:
    """Remove the lock that a killed `pulumi` left on a stack."""
    print(unlock(stack, options.kubeconfig_context()))
