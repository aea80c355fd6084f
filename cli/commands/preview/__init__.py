"""`tensorplane preview`: the engine's preview with the policy pack, as a table here and as Markdown for a reviewer."""

from __future__ import annotations

from pathlib import Path

import click

from tensorplane.cli import options


@click.command("preview")
@options.stack_option
@options.context_option
@options.policies_option
@click.option(
    "--report", type=Path, default="preview.md", show_default=True, metavar="FILE", help="Path of the Markdown report."
)
@click.option(
    "--base",
    default="",
    metavar="REVISION",
    help="Where the stack's state cannot be read: compare with the merge base of HEAD and this revision.",
)
def click_command(stack: str, context: str, policies: str, report: Path, base: str) -> int:
    """What `pulumi up` would change, with the policies' verdicts."""
    from tensorplane.driver import tools
    from tensorplane.driver.target import Target

    # What the following imports may be installed just now.
    tools.prepare_preview(Target.of(context, stack=stack))
    from tensorplane.cli.commands.preview import show
    from tensorplane.core import terminal
    from tensorplane.driver.update.policy_pack import Policies

    return show.run(stack, context, base, report, terminal.console(), Policies(policies))
