"""Settings compared with what is in the stack's cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tensorplane.cli.commands.check import controllers, guarantees, guard, node_sizes, platform, volumes
from tensorplane.components.base.problems import Note
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.target import Target
from tensorplane.stack import ResolvedStack


def comparison(stack: str, context: str) -> Callable[[ResolvedStack], list[Note]]:
    """`compare` with the cluster of a stack."""
    return partial(compare, api=Target.of(context, stack=stack).api(), repair=command_lines.repair(stack, context))


def compare(resolved: ResolvedStack, api: Kube, repair: str) -> list[Note]:
    """Notes; raises what `refuse` raises. `repair`: the command that creates again what somebody deleted."""
    refuse(resolved, api)
    return [*guard.notes(resolved, api, repair), *controllers.notes(resolved, api)]


def refuse(resolved: ResolvedStack, api: Kube) -> None:
    """Raises a UserError with a line for each setting that does not match the cluster."""
    config = resolved.config
    found = [
        *platform.problems(resolved, api),
        *guarantees.problems_in_cluster(resolved, api),
        *node_sizes.problems(resolved, partial(node_sizes.of_nodes, api)),
    ]
    if not config.platform:
        found += volumes.problems(config.volumes, config.cluster, config.namespace_name, api)
    if lines := [str(problem) for problem in found]:
        raise UserError(*lines)
