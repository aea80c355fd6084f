"""`tensorplane unlock`: removes the lock that a killed `pulumi` left on a stack."""

from __future__ import annotations

from embedded import locks
from embedded.fault import Fault
from embedded.hosts.stack_settings import StackSettings
from embedded.target import Target


def run(stack: str, context: str) -> str:
    """Removes the locks of dead processes of this machine, and tells what it did. A live one's is a Fault."""
    target = Target.of(context, stack=stack)
    StackSettings(stack, target.home).source()
    environment = target.environment()
    backend = locks.folder(environment)
    if backend is None:
        url = environment["PULUMI_BACKEND_URL"]
        raise Fault(f"stack {stack}: its state is in {url}, whose locks Pulumi removes: pulumi cancel --stack {stack}")
    return "\n".join(locks.break_stale(backend, stack)) or f"stack {stack}: no lock"
