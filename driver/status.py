"""`tensorplane status`: what is in a stack's cluster, and volumes without a claim."""

from __future__ import annotations

import datetime

from rich.console import RenderableType

from tensorplane.core import command_lines, terminal
from tensorplane.core.command_lines import STACK
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver import agent_states, claims, status_tables
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target
from tensorplane.driver.update.stack import open_stack
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance


def status(context: str, stack: str = STACK) -> None:
    """Prints nodes, pods, volumes, queues and URLs of a stack's cluster."""
    target = Target.of(context, stack=stack)
    settings = StackSettings(stack, target.home)
    settings.source()  # raises a UserError if the stack has no file
    console = terminal.console()
    if target.embedded and not cluster.is_running(target.instance):
        console.print(_stopped(target.instance))
        return
    api = target.api()
    observed, now = status_tables.gather(api), datetime.datetime.now(datetime.UTC)
    console.print(status_tables.render(observed, now, embedded=target.embedded))
    for line in agent_states.lines(observed.agents, now):
        console.print(line, markup=False, soft_wrap=True)
    if skipped := _skipped_policies(target):
        console.print(skipped, markup=False, soft_wrap=True)
    for line in claims.find_missing(settings.section("volumes"), settings.namespace, api, stack):
        console.print(line, markup=False, soft_wrap=True)


def _skipped_policies(target: Target) -> str:
    """A line if the last update skipped the policies; else empty."""
    try:
        skipped = open_stack(target).skipped_policies()
    except UserError:  # neither the tools nor the stack need to be here to look at a cluster
        return ""
    preview = command_lines.of_stack("preview", target.stack, target.context)
    return f"The last update skipped the policies; run them with: {preview}" if skipped else ""


def report_embedded(instance: Instance) -> RenderableType:
    """Nodes, pods, volumes, queues and URLs of the embedded cluster; one line when it is stopped."""
    if not cluster.is_running(instance):
        return _stopped(instance)
    return report(Kube.of(instance.kubeconfig, remedy=command_lines.start()), embedded=True)


def _stopped(instance: Instance) -> str:
    return f"The embedded cluster `{instance.name}` is stopped; start it with: {command_lines.deploy()}"


def report(api: Kube, *, embedded: bool = False) -> RenderableType:
    """Nodes, pods, volumes, queues and URLs of a cluster; `embedded`: the one of this machine."""
    return status_tables.render(status_tables.gather(api), datetime.datetime.now(datetime.UTC), embedded=embedded)
