"""Refuses commands of the embedded cluster for a stack on another cluster."""

from __future__ import annotations

from core.errors import UserError
from driver.stack_settings import StackSettings
from driver.target import Target


def refuse_other_clusters(stack: str | None, command: str) -> None:
    """A UserError if the caller named a stack that is not on the embedded cluster."""
    if stack is None:
        return
    target = Target.of("", stack=stack)
    StackSettings(stack, target.home).source()
    if not target.embedded:
        where = f"a cluster of kind {target.cloud}" if target.cloud else f"the cluster of context {target.context}"
        raise UserError(
            f"STACK={stack}: `{command}` only works on the embedded cluster, and this stack is on {where}; to delete "
            f"the stack's resources there, run: pulumi destroy --stack {stack} --run-program"
        )
