"""`tensorplane top`: who has which accelerators now, and the queues' history."""

from __future__ import annotations

import argparse

from cli.command import Command, add_json, add_stack, context


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    parser.add_argument("--history", default="3", metavar="HOURS", help="how far back; 0 for no plot (default: 3)")
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    from cli.commands.top import query
    from driver import terminal

    query.run(query.Question(args.stack, context(), args.history, args.json), terminal.console())
    return 0


COMMAND = Command(
    "who has which accelerators now, by flavor, queue and namespace; and how many jobs waited, as a plot",
    _arguments,
    _run,
    epilog="The history comes from the Workloads that still exist: deleted ones are missing, and of one that was"
    " evicted several times only the last is known. Prometheus has the full history.",
)
