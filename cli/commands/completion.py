"""`tensorplane completion SHELL`: the script by which a shell completes commands, options and stacks."""

from __future__ import annotations

import click
from click import shell_completion

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def click_command(context: click.Context, shell: str) -> None:
    """Completion of commands, options and stacks, for a shell.

    In ~/.bashrc: eval "$(tensorplane completion bash)"; in ~/.zshrc the same with zsh. For fish: tensorplane completion
    fish > ~/.config/fish/completions/tensorplane.fish.
    """
    kind = shell_completion.get_completion_class(shell)
    assert kind is not None, f"Click has completion for {_SHELLS}"  # noqa: S101
    root = context.find_root()
    click.echo(kind(root.command, {}, "tensorplane", "_TENSORPLANE_COMPLETE").source())
