"""`tensorplane kubeconfig`: the kubeconfig of a stack's cluster, for kubectl and every other client."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from tensorplane.cli import options
from tensorplane.core import command_lines


def kubeconfig(stack: str, context: str) -> str:
    """The content. A UserError if there is none yet, or if the user's own kubeconfig has the cluster."""
    from tensorplane.core.errors import UserError
    from tensorplane.driver import cloud_kubeconfig
    from tensorplane.driver.stack_settings import StackSettings
    from tensorplane.driver.target import Target

    target = Target.of(context, stack=stack)
    StackSettings(stack, target.home).source()
    if target.cloud:
        return cloud_kubeconfig.get_kubeconfig(stack, target.environment())
    if target.context:
        file = f" --kubeconfig {target.kubeconfig}" if target.kubeconfig else ""
        raise UserError(
            f"stack {stack}: your kubeconfig has its cluster already; use: kubectl{file} --context {target.context}"
        )
    if not target.instance.kubeconfig.exists():
        deploy = command_lines.deploy()
        raise UserError(f"stack {stack}: the embedded cluster was never started; start it with: {deploy}")
    return target.instance.kubeconfig.read_text()


def of_team(stack: str, team: str, context: str) -> str:
    """The content for the members of a team. UserError if the stack has no such team, or did not create its cluster."""
    from tensorplane.cli import members_kubeconfig
    from tensorplane.components.teams import members
    from tensorplane.core.errors import UserError
    from tensorplane.driver import cloud_kubeconfig
    from tensorplane.driver.stack_settings import StackSettings
    from tensorplane.driver.target import Target
    from tensorplane.embedded.cluster import kubeconfig as of_cluster
    from tensorplane.embedded.cluster.node_paths import NodePaths
    from tensorplane.stack_file.nearest import did_you_mean

    target = Target.of(context, stack=stack)
    settings = StackSettings(stack, target.home)
    settings.source()
    teams = settings.section("teams")
    if team not in teams:
        have = f"{', '.join(teams) or 'none'}{did_you_mean(team, teams)}"
        raise UserError(f"--team: stack {stack} has no team {team}; it has {have}")
    args = teams[team] or {}
    namespace = str(args.get("namespace") or team)
    if not args.get("members"):
        raise UserError(
            f"--team: team {team} has no members; name them in tensorplane:teams.{team}.members, and deploy"
        )
    if target.cloud:
        found = cloud_kubeconfig.get_team_kubeconfig(settings.of_platform.name, team, namespace, target.environment())
        return members_kubeconfig.noted(found, team)
    if target.context:
        raise UserError(
            f"--team: members authenticate as this cluster's identity provider names them; give them a kubeconfig of"
            f" the cluster whose context has namespace {namespace}"
        )
    if not target.instance.kubeconfig.exists():
        deploy = command_lines.deploy()
        raise UserError(f"stack {stack}: the embedded cluster was never started; start it with: {deploy}")
    group = members.group(settings.namespace, team)
    keys = NodePaths(target.instance).keys
    return members_kubeconfig.noted(of_cluster.of_member(target.instance, keys, team, group, namespace).decode(), team)


def write(text: str, file: Path) -> None:
    """Writes it so that only its owner can read it."""
    from tensorplane.core import whole_file
    from tensorplane.core.errors import UserError

    try:
        if file.exists() and not file.is_file():
            raise UserError(f"{file}: is not a regular file; choose another with --output")
        whole_file.write(file, text, mode=whole_file.PRIVATE)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}; choose another file with --output") from None


@click.command("kubeconfig")
@options.stack_option
@click.option("--team", metavar="TEAM", help="For the members of this team: its namespace, and what they may do there.")
@click.option("--output", type=Path, metavar="FILE", help="File to write, readable only by its owner (mode 0600).")
def click_command(stack: str, team: str | None, output: Path | None) -> None:
    """The kubeconfig of a stack's cluster."""
    from tensorplane.core.errors import UserError

    if output is None and sys.stdout.isatty():
        raise UserError(
            "--output: missing, and credentials are not printed to a terminal; name a file, or pipe the output"
        )
    text = (
        of_team(stack, team, options.kubeconfig_context()) if team else kubeconfig(stack, options.kubeconfig_context())
    )
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    file = output.expanduser().absolute()
    write(text, file)
    whose = f"team {team}" if team else f"stack {stack}"
    print(f"{file}: the kubeconfig of {whose}; use it with: export KUBECONFIG={shlex.quote(str(file))}")
