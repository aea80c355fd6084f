"""`tensorplane sweep`: submits a sweep and follows it, or shows its trials, the best first, and publishes that one."""

from __future__ import annotations

from pathlib import Path

import click

from tensorplane.cli import options


@click.command("sweep")
@click.argument("sweep", required=False)
@options.stack_option
@options.team_option
@click.option(
    "-f", "--file", type=Path, metavar="SWEEP.yaml", help="The sweep's settings, as below `workloads: NAME:`."
)
@click.option("--name", help="Name of the sweep (default: that of the file).")
@click.option("--again", is_flag=True, help="Run once more what has run already, from the beginning.")
@click.option("--dry-run", is_flag=True, help="Print the objects as YAML, and create nothing.")
@click.option("--detach", is_flag=True, help="Return once the sweep is submitted.")
@click.option("--publish", metavar="SERVER", help="Model server that gets the best trial's model.")
@options.json_option()
def click_command(
    sweep: str | None,
    stack: str,
    team: str | None,
    file: Path | None,
    name: str | None,
    again: bool,
    dry_run: bool,
    detach: bool,
    publish: str | None,
    as_json: bool,
) -> None:
    """Start a sweep and follow it, or show or publish results.

    With -f, a controller in the cluster runs the trials, and Ctrl-C leaves it running; the trials get the files of the
    file's folder, except hidden ones. The same file with the same files is the same sweep: it is not started twice.

    With SWEEP, the name of a sweep or of one of its runs: each trial's state, parameters and best value, and a plot.
    With --publish, the model of the best trial of a sweep that has ended goes to a model server of the stack.

    \b
    tensorplane sweep -f sweep.yaml
    tensorplane sweep sweep
    tensorplane sweep sweep --publish digits
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.run.submission import SubmitOptions
    from tensorplane.cli.commands.sweep import command, results, sweep_file
    from tensorplane.cli.commands.sweep import command as publishing
    from tensorplane.core import terminal

    if file:
        _without(("SWEEP", sweep), ("--publish", publish), ("--json", as_json))
        submit_options = SubmitOptions(
            sweep_file.sweep(name, file, team=team),
            stack,
            team,
            options.kubeconfig_context(),
            again=again,
            dry_run=dry_run,
            detach=detach,
        )
        command.run(submit_options, terminal.console())
        return
    if not sweep:
        raise click.UsageError("SWEEP: missing; name a sweep to see its results, or a file to start one with -f")
    _without(("--name", name), ("--again", again), ("--dry-run", dry_run), ("--detach", detach))
    if publish and as_json:
        raise click.UsageError("--json: shows results, and --publish publishes; remove one of them")
    access = Access.of(stack, team, options.kubeconfig_context())
    if publish:
        publishing.publish_best(access, sweep, publish, terminal.console())
    else:
        results.run(access, sweep, terminal.console(), as_json=as_json)


def _without(*given: tuple[str, object]) -> None:
    """A usage error if one of these is given: -f starts a sweep, and SWEEP is about one that was started."""
    if unsuitable := [name for name, value in given if value]:
        raise click.UsageError(
            f"{', '.join(unsuitable)}: -f starts a sweep, and SWEEP names one that was started; remove one of them"
        )
