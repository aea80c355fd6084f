"""Commands that messages advise, as they fit a stack."""

from __future__ import annotations

from driver.stack_settings import STACK


def deploy(stack: str, context: str = "") -> str:
    """What deploys a stack. `context`: the one that was named over the stack's file."""
    return make("up", stack, context)


def refresh(stack: str, context: str = "") -> str:
    """What deploys a stack after something of it was deleted by hand."""
    over = f"TENSORPLANE_CONTEXT={context} " if context else ""
    return f"{over}pulumi up --refresh --stack {stack}"


def see(stack: str, context: str = "") -> str:
    """What deploys a stack and sees first what became of its objects in the cluster, in backquotes."""
    return f"`{deploy(stack, context)}`, or `{refresh(stack, context)}`,"


def pods(stack: str, context: str = "") -> str:
    """What shows a stack's pods."""
    return make("status", stack, context)


def kubeconfig(stack: str) -> str:
    """What hands out the kubeconfig of a stack's cluster."""
    return tensorplane("kubeconfig", stack)


def tensorplane(command: str, stack: str) -> str:
    """A question of `tensorplane` about a stack."""
    return f"tensorplane {command}" if stack == STACK else f"tensorplane {command} --stack {stack}"


def make(goal: str, stack: str, context: str = "") -> str:
    """A goal of the Makefile that is about any stack: up, status, preview, tiers, why, top, volumes."""
    of_stack = "" if stack == STACK else f" STACK={stack}"
    return f"make {goal}{of_stack}" + (f" CONTEXT={context}" if context else "")
