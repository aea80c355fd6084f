"""`tensorplane why JOB`: why a job waits, runs or was stopped, and what would let it start."""

from __future__ import annotations

import argparse

from cli.command import Command, add_json, add_stack, context


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", help="a training job of the stack, a JobSet's name, or NAMESPACE/NAME of a team's")
    add_stack(parser)
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    from cli.commands.why import query
    from driver import terminal

    query.run(query.Question(args.job, args.stack, context(), args.json), terminal.console())
    return 0


COMMAND = Command("why a job waits, runs or was stopped, and what would let it start", _arguments, _run)
