"""Options that several commands have, and what replaces the context of a stack's file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

_Command = TypeVar("_Command", bound=Callable[..., Any])


def stack_option(command: _Command) -> _Command:
    """`--stack`, as the parameter `stack`."""
    text = "Name of a Pulumi.<stack>.yaml."
    shown = "dev, or the project's only stack"
    given = click.option("--stack", default=_only_stack, show_default=shown, help=text, shell_complete=_complete_stacks)
    return given(command)


def embedded_stack_option(command: _Command) -> _Command:
    """`--stack` of a command about the embedded cluster, as the parameter `stack`: None unless it is named."""
    text = "A stack on the embedded cluster; another is refused."
    return click.option("--stack", help=text, shell_complete=_complete_stacks)(command)


def context_option(command: _Command) -> _Command:
    """`--context`, as the parameter `context`: empty unless it or TENSORPLANE_CONTEXT is given."""
    text = "A context of your kubeconfig: use that cluster instead of the one in the stack's file."
    given = click.option("--context", envvar="TENSORPLANE_CONTEXT", default="", metavar="CONTEXT", help=text)
    return given(command)


def policies_option(command: _Command) -> _Command:
    """`--policies`, as the parameter `policies`: run or skip."""
    text = "Whether the policies run. An update that skips them is recorded in the stack's history."
    choice = click.Choice(["run", "skip"])
    return click.option("--policies", type=choice, default="run", show_default=True, help=text)(command)


def _only_stack() -> str:
    """The project's stack if it has one; else the one that commands and messages leave out."""
    from tensorplane.core.command_lines import STACK
    from tensorplane.driver.stack_settings import stack_names

    names = stack_names()
    return names[0] if len(names) == 1 else STACK


def _complete_stacks(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from tensorplane.driver.stack_settings import stack_names

    return [name for name in stack_names() if name.startswith(incomplete)]


def server_argument(*, required: bool = True) -> Callable[[_Command], _Command]:
    """The argument SERVER[/MODEL], as the parameter `target`."""
    name = "SERVER[/MODEL]" if required else "[SERVER[/MODEL]]"
    return click.argument("target", metavar=name, required=required, shell_complete=_complete_models)


def _complete_models(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The servers of the stack's file, and the models of those that have several."""
    from tensorplane.driver.stack_settings import StackSettings
    from tensorplane.embedded.instance import Instance

    declared = StackSettings(context.params.get("stack") or "dev", Instance.current().stacks).section("workloads")
    found = [
        target
        for name, args in declared.items()
        if args.get("kind") == "modelServer"
        for target in (name, *(f"{name}/{model}" for model in args.get("models") or ()))
    ]
    return [target for target in found if target.startswith(incomplete)]


def team_option(command: _Command) -> _Command:
    """`--team`, as the parameter `team`: that of a member's kubeconfig unless `--team` or `--stack` is given."""
    text = "A team that you are a member of, instead of a stack (default: that of your kubeconfig)."
    return click.option("--team", metavar="TEAM", help=text, callback=_team_of_kubeconfig)(command)


def _team_of_kubeconfig(ctx: click.Context, _: click.Parameter, given: str | None) -> str | None:
    # Options that are given come before those that are not, so the source of `stack` is known.
    if given or ctx.resilient_parsing or ctx.get_parameter_source("stack") is ParameterSource.COMMANDLINE:
        return given
    from tensorplane.cli import members_kubeconfig

    return members_kubeconfig.team(kubeconfig_context())


def json_option(text: str = "Every fact, for programs.") -> Callable[[_Command], _Command]:
    """`--json`, as the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def kubeconfig_context() -> str:
    """The kubeconfig context that replaces the one in the stack's file; empty if none is set."""
    return os.environ.get("TENSORPLANE_CONTEXT", "")
