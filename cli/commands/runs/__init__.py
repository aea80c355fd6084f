"""`tensorplane runs`: runs of pipelines: what each stage has done, start one, cancel one."""

from __future__ import annotations

import click

from cli import options


@click.group("runs", invoke_without_command=True, short_help="Runs of pipelines: list, start, cancel.")
@options.stack
@click.pass_context
def command(ctx: click.Context, stack: str) -> None:
    """Runs of the pipelines of a stack.

    Without a subcommand, it lists the newest runs of all pipelines.
    """
    if ctx.invoked_subcommand is None:
        _list_of(None, stack, everything=False, as_json=False)


@command.command("list")
@click.argument("pipeline", required=False)
@options.stack
@click.option("--all", "everything", is_flag=True, help="All runs, not only the newest.")
@options.as_json()
def _list(pipeline: str | None, stack: str, everything: bool, as_json: bool) -> None:
    """Runs of a PIPELINE, or of all: state, parts and time of each stage."""
    _list_of(pipeline, stack, everything=everything, as_json=as_json)


def _list_of(pipeline: str | None, stack: str, *, everything: bool, as_json: bool) -> None:
    from cli.access import Access
    from cli.commands.runs import tables
    from driver import terminal

    access = Access.of(stack, None, options.context())
    tables.show(access, pipeline, terminal.console(), everything=everything, as_json=as_json)


@command.command("start")
@click.argument("pipeline")
@options.stack
@click.option(
    "--account", default="default", show_default=True, help="Service account whose rights on the volumes to use."
)
def _start(pipeline: str, stack: str, account: str) -> None:
    """Run a PIPELINE on the newest versions of the datasets that it begins with.

    The same pipeline on the same versions is one run. A run that failed starts again, and repeats only what failed.
    """
    from cli.commands.runs import start

    print(start.run(pipeline, stack, options.context(), account))


@command.command("cancel")
@click.argument("run")
@options.stack
def _cancel(run: str, stack: str) -> None:
    """Stop a RUN. The results of parts that are done stay for the next one."""
    from cli.commands.runs import start

    print(start.cancel(run, stack, options.context()))
