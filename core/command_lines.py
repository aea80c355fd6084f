"""The commands that messages recommend, as they are typed here, with the stack's name and context filled in.

In a checkout of tensorplane, what prepares its environment is a goal of the Makefile: `make up STACK=prod`. In any
other project it is a command: `tensorplane up --stack prod`.
"""

from __future__ import annotations

import shlex
import sys

from tensorplane.core import paths

STACK = "dev"
"""The stack of commands that name none."""


def goal(name: str, *given: str) -> str:
    """A command that the Makefile has too: `make up`, or `tensorplane up`. `given`: options, of which empty ones go."""
    program = "make" if paths.is_checkout() else "tensorplane"
    return " ".join([program, name, *filter(None, given)])


def option(name: str, value: str = "") -> str:
    """An option of a goal: `STACK=prod` or `--stack prod`; without a value a switch, `REFRESH=1` or `--refresh`."""
    if paths.is_checkout():
        return f"{name.upper()}={value or 1}"
    return f"--{name} {value}".rstrip()


def of_stack(name: str, stack: str, context: str = "", *more: str) -> str:
    """A goal about a stack. `context`: the one that overrides the stack's file. `more`: further options."""
    of = "" if stack == STACK else option("stack", stack)
    return goal(name, of, option("context", context) if context else "", *more)


def deploy(stack: str = STACK, context: str = "") -> str:
    """The command that deploys a stack."""
    return of_stack("up", stack, context)


def deploy_as_root() -> str:
    """The same for a user who is not root. sudo has a PATH of its own, so it needs the path of the command."""
    program, _, rest = deploy().partition(" ")
    return f"sudo {program if paths.is_checkout() else shlex.quote(f'{sys.prefix}/bin/{program}')} {rest}"


def start() -> str:
    """What to do if the embedded cluster does not answer."""
    return f"Start it with: {deploy()}"


def refresh(stack: str, context: str = "") -> str:
    """The command that deploys a stack after somebody deleted some of its objects by hand."""
    over = f"TENSORPLANE_CONTEXT={context} " if context else ""
    return f"{over}pulumi up --refresh --stack {stack}"


def repair(stack: str, context: str = "") -> str:
    """The command that undoes what somebody changed or deleted outside of Pulumi."""
    return of_stack("up", stack, context, option("refresh"))


def restore(stack: str, context: str = "") -> str:
    """The commands that find deleted objects of a stack and create them again, in backquotes."""
    return f"`{deploy(stack, context)}` or `{refresh(stack, context)}`"


def status(stack: str, context: str = "") -> str:
    """The command that shows a stack's pods."""
    return of_stack("status", stack, context)


def kubeconfig(stack: str) -> str:
    """The command that prints the kubeconfig of a stack's cluster."""
    return tensorplane("kubeconfig", stack)


def tensorplane(command: str, stack: str) -> str:
    """A `tensorplane` command about a stack."""
    return f"tensorplane {command}" if stack == STACK else f"tensorplane {command} --stack {stack}"
