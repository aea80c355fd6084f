"""The commands that messages recommend, with the stack's name and context filled in."""

from __future__ import annotations

from tensorplane.driver.stack_settings import STACK


def deploy(stack: str, context: str = "") -> str:
    """The command that deploys a stack. `context`: the one that overrides the stack's file."""
    return make("up", stack, context)


def refresh(stack: str, context: str = "") -> str:
    """The command that deploys a stack after somebody deleted some of its objects by hand."""
    over = f"TENSORPLANE_CONTEXT={context} " if context else ""
    return f"{over}pulumi up --refresh --stack {stack}"


def repair(stack: str, context: str = "") -> str:
    """The command that undoes what somebody changed or deleted outside of Pulumi."""
    return f"{deploy(stack, context)} REFRESH=1"


def restore(stack: str, context: str = "") -> str:
    """The commands that find deleted objects of a stack and create them again, in backquotes."""
    return f"`{deploy(stack, context)}` or `{refresh(stack, context)}`"


def status(stack: str, context: str = "") -> str:
    """The command that shows a stack's pods."""
    return make("status", stack, context)


def kubeconfig(stack: str) -> str:
    """The command that prints the kubeconfig of a stack's cluster."""
    return tensorplane("kubeconfig", stack)


def tensorplane(command: str, stack: str) -> str:
    """A `tensorplane` command about a stack."""
    return f"tensorplane {command}" if stack == STACK else f"tensorplane {command} --stack {stack}"


def make(target: str, stack: str, context: str = "") -> str:
    """A target of the Makefile that takes a stack: up, status, preview, tiers, why, top, volumes."""
    of_stack = "" if stack == STACK else f" STACK={stack}"
    return f"make {target}{of_stack}" + (f" CONTEXT={context}" if context else "")
