"""`python -m embedded COMMAND`, behind the Makefile: parses, calls, turns faults into lines and exit codes."""

from __future__ import annotations

import argparse
import os
import sys

from embedded import interruption
from embedded import up as main_job
from embedded.causes import cause
from embedded.fault import Fault
from embedded.paths import Instance
from embedded.target import STACK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m embedded", description="The embedded default of tensorplane.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="build what is missing, start the cluster, deploy, train, serve")
    up.add_argument("--stack", default=STACK, help=f"the main job is the stack {STACK}'s; another name is refused")
    commands.add_parser("down", help="stop the cluster; data stays")
    commands.add_parser("status", help="nodes, pods, volumes, queue, URLs")
    purge = commands.add_parser("purge", help="stop the cluster and delete its data")
    purge.add_argument("--yes", action="store_true", help="do not ask")
    tools = commands.add_parser("tools", help="build or find the tools")
    which = tools.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="also what the tests need: the cluster's programs and images")
    which.add_argument("--python", choices=("stacks", "tests"), help="Python packages alone, the tests' too or not")
    return parser


def _run(args: argparse.Namespace) -> None:
    match args.command:
        case "up" if args.stack != STACK:
            raise Fault(
                f"STACK={args.stack}: `make up` runs the main job, which is the stack {STACK}'s. For another: "
                f"make preview STACK={args.stack}, then . .venv/bin/activate && pulumi up --stack {args.stack}"
            )
        case "up":
            main_job.up(os.environ.get("TENSORPLANE_CONTEXT", ""))
        case "down":
            main_job.down(Instance.current())
        case "status":
            main_job.status(os.environ.get("TENSORPLANE_CONTEXT", ""))
        case "purge":
            main_job.purge(Instance.current(), confirmed=args.yes)
        case "tools":
            main_job.prepare(everything=args.all, python=args.python)


def main() -> int:
    """Run the command; 0 when it worked, 1 after faults (printed, a line each), 130 after Ctrl-C."""
    args = _parser().parse_args()
    interruption.listen()
    try:
        _run(args)
    except Fault as fault:
        print(*fault.lines, sep="\n", file=sys.stderr)
        return 1
    except OSError as error:
        # Our own files: what the programs that we start have to say comes as a Fault.
        print(cause([str(error)]) or f"{error.filename or 'this machine'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on from here.", file=sys.stderr, flush=True)
        interruption.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
