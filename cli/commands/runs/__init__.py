"""`tensorplane runs`: runs of pipelines: list them, show one here or as a page, start one, cancel one."""

from __future__ import annotations

import click

from tensorplane.cli import options


class _Runs(click.Group):
    """The subcommands; what is none of them names a run or a pipeline to show."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["show", *args])


@click.group(
    "runs",
    cls=_Runs,
    invoke_without_command=True,
    short_help="Runs of pipelines: list, show, page, start, cancel.",
    subcommand_metavar="[PIPELINE|RUN|COMMAND] [ARGS]...",
)
@options.stack_option
@click.pass_context
def click_command(ctx: click.Context, stack: str) -> None:
    """Runs of the pipelines of a stack.

    Without a subcommand, it lists the newest runs of all pipelines. With the name of a pipeline or of a run, it shows
    one run as `show` does.
    """
    if ctx.invoked_subcommand is None:
        _list_of(None, stack, everything=False, as_json=False)


@click_command.command("list")
@click.argument("pipeline", required=False)
@options.stack_option
@click.option("--all", "everything", is_flag=True, help="All runs, not only the newest.")
@options.json_option()
def _list(pipeline: str | None, stack: str, everything: bool, as_json: bool) -> None:
    """Runs of a PIPELINE, or of all: state, parts and time of each stage."""
    _list_of(pipeline, stack, everything=everything, as_json=as_json)


def _list_of(pipeline: str | None, stack: str, *, everything: bool, as_json: bool) -> None:
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.runs import tables
    from tensorplane.core import terminal

    access = Access.of(stack, None, options.kubeconfig_context())
    tables.show(access, pipeline, terminal.console(), everything=everything, as_json=as_json)


@click_command.command("show")
@click.argument("name", metavar="PIPELINE|RUN")
@options.stack_option
@options.json_option()
def _show(name: str, stack: str, as_json: bool) -> None:
    """The newest run of a PIPELINE, or a RUN: progress, time, ETA and cost of each stage, what was skipped and why."""
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.runs import show
    from tensorplane.core import terminal

    access = Access.of(stack, None, options.kubeconfig_context())
    show.run(access, name, terminal.console(), as_json=as_json)


@click_command.command("page")
@click.argument("name", metavar="PIPELINE|RUN")
@options.stack_option
@click.option("--port", type=click.IntRange(1, 65535), help="Port of this machine; by default a free one.")
@click.option("--open", "opens", is_flag=True, help="Open it in a browser.")
def _page(name: str, stack: str, port: int | None, opens: bool) -> None:
    """Show the runs of a PIPELINE, or a RUN, as a page on a port of this machine, until Ctrl-C.

    It draws the stages and refreshes itself. A click on a stage shows its image, command, inputs, output, times, cost,
    and what was skipped and why.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.runs import page
    from tensorplane.core import terminal

    access = Access.of(stack, None, options.kubeconfig_context())
    page.run(access, name, terminal.console(), port=port, opens=opens)


@click_command.command("start")
@click.argument("pipeline")
@options.stack_option
@click.option(
    "--account", default="default", show_default=True, help="Service account whose rights on the volumes to use."
)
def _start(pipeline: str, stack: str, account: str) -> None:
    """Run a PIPELINE on the newest versions of the datasets that it begins with.

    The same pipeline on the same versions is one run, until something else replaces what it made. A run that failed
    starts again, and repeats only what failed.
    """
    from tensorplane.cli.commands.runs import start

    print(start.run(pipeline, stack, options.kubeconfig_context(), account))


@click_command.command("cancel")
@click.argument("run")
@options.stack_option
def _cancel(run: str, stack: str) -> None:
    """Stop a RUN. The results of parts that are done stay for the next one."""
    from tensorplane.cli.commands.runs import start

    print(start.cancel(run, stack, options.kubeconfig_context()))
