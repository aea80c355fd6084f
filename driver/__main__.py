"""`python -m tensorplane.driver COMMAND`, behind the Makefile: parses and calls."""

from __future__ import annotations

import argparse
import os
import sys

from tensorplane.driver import crash_reports, exit_codes, status, teardown, tools, up
from tensorplane.driver.stack_settings import STACK
from tensorplane.driver.target import Target
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.embedded.instance import Instance


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tensorplane.driver", description="Deploys stacks; runs the embedded cluster."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="deploy a stack, with the embedded cluster where the stack is on it")
    status = commands.add_parser("status", help="nodes, pods, volumes, queues and URLs of a stack's cluster")
    for command in (up, status):
        command.add_argument("--stack", default=STACK, help=f"name of a Pulumi.<stack>.yaml (default: {STACK})")
    up.add_argument("--refresh", action="store_true", help="read every resource first, and repair what has drifted")
    up.add_argument(
        "--policies",
        choices=[each.value for each in Policies],
        default=Policies.RUN.value,
        help="whether the policies run (default: run); an update that skips them is recorded in the stack's history",
    )
    down = commands.add_parser("down", help="stop the embedded cluster; data stays")
    purge = commands.add_parser("purge", help="stop the embedded cluster and delete its data")
    purge.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    for command in (down, purge):
        command.add_argument("--stack", help="a stack on the embedded cluster; another is refused")
    tools = commands.add_parser("tools", help="build or find the tools")
    which = tools.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="also those of the tests: the cluster's programs and images")
    which.add_argument(
        "--python", choices=("stacks", "tests"), help="only the Python packages, of stacks or also of the tests"
    )
    which.add_argument("--preview", metavar="STACK", help="also what a preview of this stack needs without its cloud")
    return parser


def _run(args: argparse.Namespace) -> None:
    context = os.environ.get("TENSORPLANE_CONTEXT", "")
    match args.command:
        case "up":
            up.up(context, args.stack, Policies(args.policies), refresh=args.refresh)
        case "status":
            status.status(context, args.stack)
        case "down":
            teardown.down(Instance.current(), args.stack)
        case "purge":
            teardown.purge(Instance.current(), args.stack, confirmed=args.yes)
        case "tools":
            previewed = Target.of(context, stack=args.preview) if args.preview else None
            tools.prepare(everything=args.all, python=args.python, previewed=previewed)


def main() -> int:
    """Runs the command; its exit code."""
    args = _parser().parse_args()
    return exit_codes.run(f"make {args.command}", lambda: _run(args))


if __name__ == "__main__":
    crash_reports.report_threads("make")
    sys.exit(main())
